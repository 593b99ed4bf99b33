#include <gmock/gmock.h>

#include <algorithm>

#include "end_to_end/order_site.h"
#include "interleave/planted.h"
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
  std::int64_t sagas(const std::string& condition) {
    return rows("SELECT COUNT(*) FROM skald_saga WHERE type = 'order.lab' AND " + condition);
  }
  std::int64_t locks() { return rows("SELECT COUNT(*) FROM skald_lock WHERE resource = 'lab'"); }
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

TEST_P(OrderLab, ASemanticLockIsHeldAndWaitedForBySagasOfTheEngineWhichEndWithTheRun) {
  int runs = 0;
  for (const auto& [anomaly, remedies] : kRemedies) {
    const auto report = run(anomaly, "semantic-lock");
    EXPECT_FALSE(report.occurred) << report.explanation;
    EXPECT_EQ(std::ranges::count_if(report.timeline, [](const auto& line) { return line.note.starts_with("BUSY"); }), 1)
        << "B waits";
    EXPECT_EQ(sagas("status = 'COMPLETED'"), 2 * ++runs) << "A and B";
    EXPECT_EQ(sagas("live = 1"), 0);
    EXPECT_EQ(locks(), 0);
  }
}

TEST_P(OrderLab, WhereTheEngineDoesNotPassALockOnTheLabSaysSo) {
  for (const auto rule : {seam::Rule::granted_on_release, seam::Rule::locks_released_at_end})
    for (const auto& [anomaly, remedies] : kRemedies) {
      const Planted bug(rule);
      const Response response = call("POST", "/order/lab", to_json(order::LabRequest{anomaly, "semantic-lock"}));
      EXPECT_EQ(response.status, 500) << response.body;
      EXPECT_EQ(code_of(response), "LOCK_NOT_GRANTED") << anomaly;
    }
}

// The first change of the product is one that its table refuses; by then A is at work, and B waits.
TEST_P(OrderLab, AStoryThatBreaksOffLeavesNoSagaAndNoLock) {
  (*db_)->write("test", [](Transaction& tx) {
    tx.execute("DROP TABLE order_lab_product");
    tx.execute(
        "CREATE TABLE order_lab_product (id TEXT PRIMARY KEY, quantity BIGINT CHECK (quantity = 100), "
        "reserved BIGINT, version BIGINT)");
  });
  const Response response = call("POST", "/order/lab", R"({"anomaly":"lost-update","countermeasure":"semantic-lock"})");
  EXPECT_GE(response.status, 400) << response.body;
  EXPECT_EQ(sagas("1 = 1"), 2);
  until([&] { return sagas("live = 1") == 0; }, "the end of both sagas", 5s);
  EXPECT_EQ(sagas("status = 'COMPLETED'"), 2) << "not by their limits";
  EXPECT_EQ(locks(), 0);
  EXPECT_EQ(rows("SELECT COUNT(*) FROM order_lab_product"), 0);
}

TEST_P(OrderLab, UnknownNamesAreRefused) {
  EXPECT_EQ(code_of(call("POST", "/order/lab", R"({"anomaly":"phantom"})")), "BAD_ANOMALY");
  EXPECT_EQ(code_of(call("POST", "/order/lab", R"({"anomaly":"dirty-read","countermeasure":"hope"})")),
            "BAD_COUNTERMEASURE");
}

}  // namespace
}  // namespace skald::test
