#include "cli/settings.h"

#include <gmock/gmock.h>

namespace skald::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "BAD_SETTING");
    return error.what();
  }
  ADD_FAILURE() << "nothing was refused";
  return "";
}

TEST(Settings, TheTableIsFullOfValuesThatItAllowsItself) {
  const Settings settings({}, {}, {});
  EXPECT_EQ(settings.text("listen"), "127.0.0.1:8080");
  EXPECT_EQ(settings.duration("outbox.backoff_first"), 30s);
  EXPECT_EQ(settings.origin("listen"), "standard");
}

TEST(Settings, FlagsBeatTheEnvironmentWhichBeatsTheFile) {
  const Values file = {{"db", "memory:"}, {"data", "a"}, {"log.level", "warn"}};
  const Values environment = {{"data", "b"}, {"log.level", "error"}};
  const Settings settings(file, environment, {{"log.level", "debug"}});
  EXPECT_EQ(settings.text("db"), "memory:");
  EXPECT_EQ(settings.text("data"), "b");
  EXPECT_EQ(settings.text("log.level"), "debug");
  EXPECT_EQ(settings.origin("data"), "environment");
}

TEST(Settings, EveryEnvironmentNameIsThePathInUpperCase) {
  std::vector<std::string> unknown;
  const Values values = settings_from_environment({{"SKALD_AUTH_SECRET", "s"},
                                                   {"SKALD_DONATION_WEBHOOK", "http://a"},
                                                   {"SKALD_WEBHOOK_ALLOW_PRIVATE", "1"},
                                                   {"SKALD_DB", "memory:"},
                                                   {"SKALD_BUS", ""},
                                                   {"PATH", "/bin"},
                                                   {"SKALD_LISTN", "x"}},
                                                  unknown);
  EXPECT_EQ(
      values,
      (Values{
          {"auth.secret", "s"}, {"donation.webhook", "http://a"}, {"webhook.allow_private", "1"}, {"db", "memory:"}}));
  EXPECT_THAT(unknown, ElementsAre("SKALD_LISTN is no setting, did you mean SKALD_LISTEN?"));
}

TEST(Settings, EnvironmentNamesAreUnique) {
  std::map<std::string, int> names;
  for (const Setting& setting : known_settings()) EXPECT_EQ(++names[environment_name(setting)], 1) << setting.path;
}

TEST(Settings, AFileIsReadByTables) {
  const Values values = read_settings_file(
      "listen = \"0.0.0.0:80\"\nservices = [\"donation\"]\n[http]\nthreads = 8\n[webhook]\nallow_private = true\n",
      "skald.toml");
  EXPECT_EQ(values, (Values{{"listen", "0.0.0.0:80"},
                            {"services", "donation"},
                            {"http.threads", "8"},
                            {"webhook.allow_private", "true"}}));
}

TEST(Settings, AnUnknownKeyIsRefusedWithItsLineAndTheNearestName) {
  EXPECT_EQ(refusal([] { read_settings_file("\n[http]\nthread = 3\n", "skald.toml"); }),
            "skald.toml:3: there is no setting http.thread, did you mean http.threads?");
  EXPECT_THAT(refusal([] { read_settings_file("zzzzzzzzzzzzzzzzzzzzzzz = 3", "f"); }), Not(HasSubstr("did you mean")));
  EXPECT_THAT(refusal([] { read_settings_file("[donation.webhook]\nx = 1", "f"); }),
              HasSubstr("donation.webhook must be"));
}

TEST(Settings, AWrongTypeInTheFileNamesTheSettingAndWhatIsAllowed) {
  EXPECT_EQ(refusal([] { read_settings_file("http.threads = \"8\"", "f"); }),
            "f:1: http.threads must be a whole number from 1 to 512");
  EXPECT_THAT(refusal([] { read_settings_file("listen = 8080", "f"); }), HasSubstr("listen must be"));
  EXPECT_THAT(refusal([] { read_settings_file("listen = ", "f"); }), HasSubstr("f:1: this is not TOML"));
}

TEST(Settings, ABadValueNamesThePlaceItCameFrom) {
  EXPECT_EQ(refusal([] { Settings({}, {{"http.threads", "0"}}, {}); }),
            "SKALD_HTTP_THREADS is '0' and must be a whole number from 1 to 512");
  EXPECT_THAT(refusal([] { Settings({}, {}, {{"log.level", "loud"}}); }),
              HasSubstr("--log-level is 'loud' and must be one of debug, info"));
  for (const char* bad : {"7", "-1s", "1w", "", "99999999999999999999s"})
    EXPECT_THAT(refusal([&] { Settings({{"outbox.retention", bad}}, {}, {}); }), HasSubstr("outbox.retention")) << bad;
  EXPECT_THAT(refusal([] { Settings({{"webhook.allow_private", "maybe"}}, {}, {}); }), HasSubstr("true or false"));
}

TEST(Settings, SecretsAreNeverShownNorTakenAsFlags) {
  const Settings settings({}, {{"auth.secret", "hunter2, hunter2"}}, {});
  EXPECT_EQ(settings.text("auth.secret"), "hunter2, hunter2");
  EXPECT_EQ(settings.shown("auth.secret"), "(set)");
  EXPECT_EQ(settings.shown("outbox.hash_key"), "");
  EXPECT_EQ(flag_name(*find_setting("auth.secret")), "");
  EXPECT_THAT(refusal([] { Settings({}, {{"auth.secret", std::string(2000, 'x')}}, {}); }), Not(HasSubstr("xxx")));
}

TEST(Settings, AShortSecretIsRefusedWithWhatToDoAndAnEmptyOneIsNone) {
  for (const char* path : {"auth.secret", "outbox.hash_key", "donation.webhook_secret"}) {
    EXPECT_EQ(refusal([&] { Settings({{path, "hunter2, hunter"}}, {}, {}); }),
              std::string(path) + " must be 16 to 1024 random bytes, or left out; `openssl rand -hex 32` makes some");
    EXPECT_EQ(Settings({{path, "hunter2, hunter2"}}, {}, {}).text(path), "hunter2, hunter2");
    EXPECT_EQ(Settings({{path, ""}}, {}, {}).text(path), "");
  }
}

TEST(Settings, UrlsAreShownWithoutPasswordsAndTokens) {
  EXPECT_EQ(shown_url("postgresql://kim:pw@db:5432/skald?password=pw"), "postgresql://db:5432/skald");
  EXPECT_EQ(shown_url("https://discord.example/api/webhooks/1/token"), "https://discord.example");
  EXPECT_EQ(shown_url("sqlite:data"), "sqlite:data");
}

TEST(Settings, AFractionIsFromZeroToOneHoweverItIsWritten) {
  EXPECT_EQ(Settings({}, {}, {}).fraction("otlp.ratio"), 1);
  for (const char* written : {"otlp.ratio = 0.25", "[otlp]\nratio = 2.5e-1", "otlp.ratio = \"0.25\""})
    EXPECT_EQ(Settings(read_settings_file(written, "f"), {}, {}).fraction("otlp.ratio"), 0.25) << written;
  EXPECT_EQ(Settings(read_settings_file("otlp.ratio = 0", "f"), {}, {}).fraction("otlp.ratio"), 0);
  for (const char* bad : {"1.01", "-0.1", "nan", "1e-3", "", "half", "0.5x"})
    EXPECT_THAT(refusal([&] { Settings({}, {{"otlp.ratio", bad}}, {}); }), HasSubstr("a number from 0 to 1")) << bad;
  EXPECT_THAT(refusal([] { Settings(read_settings_file("otlp.ratio = nan", "f"), {}, {}); }), HasSubstr("otlp.ratio"));
}

TEST(Settings, ACollectorsHeadersAreASecret) {
  const Settings settings({}, {{"otlp.headers", "api-key=hush"}, {"otlp.endpoint", "https://collector/hush"}}, {});
  EXPECT_EQ(settings.shown("otlp.headers"), "(set)");
  EXPECT_EQ(settings.shown("otlp.endpoint"), "https://collector");
  EXPECT_EQ(flag_name(*find_setting("otlp.headers")), "");
}

TEST(Settings, ListsAreSplitAtCommas) {
  EXPECT_THAT(Settings({}, {{"http.allowed_hosts", " a.example , b.example,"}}, {}).list("http.allowed_hosts"),
              ElementsAre("a.example", "b.example"));
  EXPECT_THAT(Settings({}, {}, {}).list("http.allowed_hosts"), IsEmpty());
}

}  // namespace
}  // namespace skald::cli
