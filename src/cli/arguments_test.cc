#include "cli/arguments.h"

#include <gmock/gmock.h>

namespace skald::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

Arguments parse(const std::vector<std::string>& words) { return parse_arguments(words); }

std::string refusal(const std::vector<std::string>& words) {
  try {
    parse(words);
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "USAGE");
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(Arguments, ReadsACommandItsFlagsItsOperandsAndSettings) {
  const Arguments out = parse({"dlq", "discard", "01ABC", "--reason", "spam", "--data=here", "--json"});
  EXPECT_EQ(out.command->name, "dlq discard");
  EXPECT_THAT(out.operands, ElementsAre("01ABC"));
  EXPECT_EQ(out.flag("reason"), "spam");
  EXPECT_EQ(out.settings, (Values{{"data", "here"}}));
  EXPECT_TRUE(out.json());
}

TEST(Arguments, SwitchesOfSettingsNeedNoValue) {
  EXPECT_EQ(parse({"serve", "--webhook-allow-private"}).settings, (Values{{"webhook.allow_private", "true"}}));
  EXPECT_EQ(parse({"serve", "--webhook-allow-private=false"}).settings, (Values{{"webhook.allow_private", "false"}}));
}

TEST(Arguments, AfterTwoDashesEverythingIsAnOperand) {
  EXPECT_THAT(parse({"dlq", "show", "--", "--odd-id"}).operands, ElementsAre("--odd-id"));
}

TEST(Arguments, WhatIsWrongIsSaidWithWhatWasMeant) {
  EXPECT_EQ(refusal({"serv"}), "there is no command 'serv', did you mean serve?");
  EXPECT_EQ(refusal({"dlq", "lits"}), "there is no command 'dlq lits', did you mean list?");
  EXPECT_EQ(refusal({"dlq"}), "skald dlq what? One of list, show, replay, discard, import");
  EXPECT_EQ(refusal({"serve", "--lisen", "x"}), "there is no flag --lisen, did you mean --listen?");
  EXPECT_EQ(refusal({"serve", "--listen"}), "--listen needs a value");
  EXPECT_EQ(refusal({"serve", "--db", "a", "--db", "b"}), "--db is given twice");
  EXPECT_EQ(refusal({"serve", "--json=1"}), "--json takes no value");
  EXPECT_EQ(refusal({"serve", "extra"}), "'extra' is one word too many for skald serve");
  EXPECT_EQ(refusal({"outbox", "show"}), "skald outbox show needs ID");
  EXPECT_THAT(refusal({"serve", "-x"}), HasSubstr("two dashes"));
}

TEST(Arguments, ASecretAsAFlagIsRefusedWithItsVariable) {
  EXPECT_EQ(refusal({"serve", "--auth-secret", "x"}),
            "there is no flag --auth-secret; secrets are not given on the command line, set SKALD_AUTH_SECRET instead");
}

// Everybody on the machine reads command lines.
TEST(Arguments, ATokenAsAFlagIsRefusedWithTheWaysToGiveIt) {
  EXPECT_EQ(refusal({"dlq", "list", "--server", "http://a", "--token", "eyJhbGciOi"}),
            "there is no flag --token; secrets are not given on the command line, set SKALD_TOKEN instead, or name a "
            "file that holds it with --token-file");
}

TEST(Arguments, AUrlWithAPasswordIsRefusedWithoutRepeatingIt) {
  for (const char* url : {"postgresql://kim:hunter2@db/skald", "postgresql://db/skald?password=hunter2",
                          "postgresql://db?sslmode=require&password=hunter2", "postgresql://db?sslpassword=hunter2",
                          "postgresql://kim:hun?hunter2@db/skald", "postgresql://a,b/s?pass%77ord=hunter2"}) {
    const std::string told = refusal({"serve", "--db", url});
    EXPECT_THAT(told, HasSubstr("set SKALD_DB instead, or db in the file of --config")) << url;
    EXPECT_THAT(told, HasSubstr("PGPASSWORD")) << url;
    EXPECT_THAT(told, Not(HasSubstr("hunter2"))) << url;
  }
  for (const char* url : {"nats://a:4222,nats://kim:hunter2@b:4222", "tls://hunter2@b:4222"})
    EXPECT_THAT(refusal({"serve", "--bus=" + std::string(url)}), HasSubstr("SKALD_BUS")) << url;
  EXPECT_THAT(refusal({"sagas", "list", "--server", "https://kim:hunter2@a"}), HasSubstr("SKALD_TOKEN"));
}

TEST(Arguments, AUrlWithoutAPasswordIsTaken) {
  for (const char* url : {"postgresql://kim@db:5432/skald", "postgresql://db/skald?passfile=%2Fetc%2Fpass&user=kim",
                          "postgresql://kim:@db/skald", "postgresql://[::1]:5432/skald", "sqlite:data", "memory:"})
    EXPECT_EQ(parse({"serve", "--db", url}).settings, (Values{{"db", url}}));
  EXPECT_EQ(parse({"serve", "--bus", "nats://a:4222,nats://b:4222"}).settings,
            (Values{{"bus", "nats://a:4222,nats://b:4222"}}));
}

TEST(Arguments, AFlagThatRepeatsKeepsAllItsValuesAndOthersAreRefusedTwice) {
  const Arguments typed =
      parse({"flow", "mcp", "add", "search", "--env", "A", "--env=B=1", "--", "find", "--env", "C"});
  EXPECT_EQ(typed.all("env"), (std::vector<std::string>{"A", "B=1"}));
  EXPECT_EQ(typed.operands, (std::vector<std::string>{"search", "find", "--env", "C"}));
  EXPECT_TRUE(typed.all("nothing").empty());
  EXPECT_THROW(parse({"flow", "list", "--limit", "1", "--limit", "2"}), Invalid);
}

TEST(Arguments, WordsInBracketsMayBeLeftOutAndOthersMayNot) {
  EXPECT_EQ(parse({"flow", "modify", "F1"}).operands.size(), 1u);
  EXPECT_EQ(parse({"flow", "modify", "F1", "plan.toml"}).operands.size(), 2u);
  EXPECT_THROW(parse({"flow", "modify"}), Invalid);
  EXPECT_THROW(parse({"flow", "modify", "F1", "plan.toml", "more"}), Invalid);
}

TEST(Arguments, HelpComesBeforeComplaints) {
  EXPECT_TRUE(parse({"dlq", "show", "--help"}).help);
  EXPECT_TRUE(parse({"help", "serve"}).help);
  EXPECT_TRUE(parse({"--help"}).help);
  EXPECT_TRUE(parse({"--version"}).version);
  EXPECT_EQ(parse({}).command, nullptr);
}

TEST(Arguments, HelpOfServeListsEverySetting) {
  const std::string help = help_text(parse({"serve"}).command);
  for (const Setting& setting : known_settings()) EXPECT_THAT(help, HasSubstr(setting.help)) << setting.path;
}

TEST(Arguments, HelpListsEveryCommand) {
  for (const Command& command : commands())
    EXPECT_THAT(help_text(nullptr), HasSubstr("  " + std::string(command.name)));
}

TEST(Arguments, CompletionKnowsEveryCommand) {
  for (const char* shell : {"bash", "zsh", "fish"}) {
    const std::string script = completion_script(shell);
    EXPECT_THAT(script, HasSubstr("list show replay discard import")) << shell;
    EXPECT_THAT(script, HasSubstr("doctor")) << shell;
  }
  EXPECT_THROW(completion_script("cmd"), Invalid);
}

}  // namespace
}  // namespace skald::cli
