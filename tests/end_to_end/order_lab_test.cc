#include <gmock/gmock.h>

#include <algorithm>

#include "end_to_end/order_site.h"
#include "order/lab.h"

namespace skald::test {
namespace {

class OrderLab : public OrderTest {
 protected:
  order::LabReport run(const std::string& anomaly, const std::string& measure) {
    const Response response = call("POST", "/order/lab", to_json(order::LabRequest{anomaly, measure}));
    EXPECT_EQ(response.status, 200) << response.body;
    return from_json<order::LabReport>(response.body);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, OrderLab, testing::Values(Dialect::sqlite, Dialect::postgres), database_name);

const std::map<std::string, std::vector<std::string>> kRemedies = {
    {"dirty-read", {"default", "semantic-lock", "distributed-lock", "pessimistic-view"}},
    {"lost-update",
     {"default", "commutative-update", "semantic-lock", "distributed-lock", "optimistic-lock", "reread-value",
      "version-file"}},
    {"non-repeatable-read",
     {"default", "reread-value", "optimistic-lock", "semantic-lock", "distributed-lock", "version-file"}}};

TEST_P(OrderLab, EveryAnomalyHappensWithoutACountermeasure) {
  for (const auto& [anomaly, remedies] : kRemedies) {
    const auto report = run(anomaly, "none");
    EXPECT_TRUE(report.occurred) << anomaly << ": " << report.explanation;
    EXPECT_EQ(report.countermeasure, "none");
    std::string name = anomaly;
    std::ranges::replace(name, '-', '_');
    EXPECT_THAT(report.findings, testing::ElementsAre(testing::StartsWith(name + ": "))) << "what the checker says";
    EXPECT_GE(report.timeline.size(), 3u);
  }
}

TEST_P(OrderLab, EveryRemedyPreventsItsAnomaly) {
  for (const auto& [anomaly, remedies] : kRemedies)
    for (const auto& remedy : remedies) {
      const auto report = run(anomaly, remedy);
      EXPECT_FALSE(report.occurred) << anomaly << ", " << remedy << ": " << report.explanation;
      EXPECT_NE(report.countermeasure, "default");
      EXPECT_THAT(report.findings, testing::IsEmpty()) << "what the checker says";
      EXPECT_GE(report.timeline.size(), 2u);
    }
}

TEST_P(OrderLab, WhatIsNoRemedyIsSaidToBeNone) {
  for (const auto& [anomaly, remedies] : kRemedies)
    for (const char* measure : {"idempotency-key", "semaphore"}) {
      const auto report = run(anomaly, measure);
      EXPECT_TRUE(report.occurred) << anomaly << ", " << measure;
      EXPECT_THAT(report.explanation, testing::HasSubstr("no remedy"));
    }
}

TEST_P(OrderLab, RunsEndTheSameWayEveryTimeAndLeaveNothingBehind) {
  for (const auto& [anomaly, remedies] : kRemedies)
    EXPECT_EQ(to_json(run(anomaly, "none")), to_json(run(anomaly, "none")));
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_lab_product"), 0);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM skald_permit WHERE expires_at > 0 AND holder IN ('A', 'B')"), 0);
}

TEST_P(OrderLab, UnknownNamesAreRefused) {
  EXPECT_EQ(code_of(call("POST", "/order/lab", R"({"anomaly":"phantom"})")), "BAD_ANOMALY");
  EXPECT_EQ(code_of(call("POST", "/order/lab", R"({"anomaly":"dirty-read","countermeasure":"hope"})")),
            "BAD_COUNTERMEASURE");
}

}  // namespace
}  // namespace skald::test
