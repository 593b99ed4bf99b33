// The sagas that the program ships with, as `skald lint` in a CI would judge them.
#include <gmock/gmock.h>

#include "end_to_end/skald_process.h"
#include "skald/analyser.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

TEST(LintTest, NothingThatTheShippedSagasCanDoToEachOtherIsUncovered) {
  const TemporaryFolder folder;
  SkaldServer server({"--data", folder.path().string()});
  const CommandResult linted = run_skald({"lint", "--json", "--data", folder.path().string()}, {}, &server);
  EXPECT_EQ(linted.status, 0) << linted.err;
  const auto report = from_json<analyser::Report>(linted.out);
  EXPECT_THAT(report.sagas, testing::IsSupersetOf({"order.cancel v2", "order.lab", "order.place"}))
      << "all services are served";
  EXPECT_EQ(report.uncovered, 0) << report_text(report);
  EXPECT_FALSE(report.findings.empty()) << "they do meet, and something covers it";
  for (const auto& finding : report.findings)
    EXPECT_THAT((std::vector{finding.first.saga, finding.second.saga}), testing::Not(testing::Contains("order.lab")))
        << "what the lab plays with is nobody's data";
  EXPECT_EQ(server.stop(), 0);
}

}  // namespace
}  // namespace skald::test
