// skald demo flow, as somebody runs it.
#include <gmock/gmock.h>
#include <signal.h>

#include <filesystem>

#include "end_to_end/skald_process.h"
#include "skald/process.h"
#include "support/built.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using testing::Contains;
using testing::HasSubstr;

class DemoFlow : public testing::Test {
 protected:
  bool is_left() const { return !std::filesystem::is_empty(folder_.path()); }
  std::string place() const { return folder_.path().string(); }

  TemporaryFolder folder_;  // the demo's place for temporary folders
};

TEST_F(DemoFlow, EverythingThatItTellsIsCheckedAndNothingIsLeftOfIt) {
  const auto result = run_skald({"demo", "flow", "--json"}, {{"TMPDIR", place()}});
  ASSERT_EQ(result.status, 0) << result.out << result.err;
  const auto told = json::parse(result.out);
  std::vector<std::string> checked;
  for (const auto& one : told.at("checked").as_array()) checked.emplace_back(one.as_string());
  for (const char* what :
       {"the first work is done, the second has failed", "one checkpoint with a commit in each repository",
        "all works are done; the first ran once, the second twice", "prices.html is as it was",
        "main of api has prices.json", "main of web has prices.html", "the agent of the last work asks a person",
        "main of api has NOTICE.md", "the repositories have main and nothing else", "no folder and no agent is left",
        "the server has ended in order"})
    EXPECT_THAT(checked, Contains(what));
  EXPECT_LT(told.at("milliseconds").as_int64(), 30'000);
  EXPECT_FALSE(is_left());
}

TEST_F(DemoFlow, ASignalEndsItWithAnErrorAndNothingIsLeftOfIt) {
  const auto clock = system_clock();
  const Instant deadline = clock->steady() + 60s;
  // The shell says its number, which is then the demo's.
  Dialogue demo(*clock, {.argv = {"sh", "-c", "echo $$; exec \"$0\" demo flow", built::kProgram},
                         .variables = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"TMPDIR", place()}}});
  const pid_t pid = std::stoi(demo.receive_line(deadline).value_or("0"));
  ASSERT_GT(pid, 0);
  auto line = demo.receive_line(deadline);
  while (line && line->find("It is started.") == line->npos) line = demo.receive_line(deadline);
  ASSERT_TRUE(line) << "it does not begin";
  ASSERT_EQ(kill(pid, SIGTERM), 0);
  while (demo.receive_line(deadline)) {}
  const auto& end = demo.end(1s);
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_THAT(end.err, HasSubstr("DEMO_STOPPED"));
  EXPECT_FALSE(is_left());
}

}  // namespace
}  // namespace skald::test
