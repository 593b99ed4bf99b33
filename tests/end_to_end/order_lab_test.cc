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
  for (const auto& [anomaly, remedies] : kRemedies) {
    EXPECT_EQ(to_json(run(anomaly, "none")), to_json(run(anomaly, "none")));
    for (const auto& remedy : remedies) run(anomaly, remedy);
  }
  for (const char* table :
       {"order_lab_product", "skald_version_entry", "skald_version_head", "skald_permit", "skald_semaphore"})
    EXPECT_EQ(rows(std::string("SELECT COUNT(*) FROM ") + table), 0) << table;
}

TEST_P(OrderLab, WhatALockIsCalledIsWhatItIs) {
  const auto notes = [&](const std::string& measure) {
    std::string out;
    for (const auto& line : run("lost-update", measure).timeline)
      if (line.step == "lock" || line.step == "unlock") out += line.note + "; ";
    return out;
  };
  EXPECT_THAT(notes("semantic-lock"), testing::HasSubstr("RESERVING"));
  EXPECT_THAT(notes("distributed-lock"),
              testing::AllOf(testing::HasSubstr("fence"), testing::Not(testing::HasSubstr("RESERVING"))));
}

// What A has done when B looks is decided by the order of A's steps, and that by the analyser.
TEST_P(OrderLab, ThePessimisticViewIsTheOrderThatTheAnalyserAdvises) {
  const auto report = run("dirty-read", "pessimistic-view");
  ASSERT_GE(report.timeline.size(), 3u);
  EXPECT_THAT(report.timeline[0].note, testing::HasSubstr("put 'take' behind 'pay'"));
  EXPECT_EQ(report.timeline[1].step, "pay");
  EXPECT_EQ(report.timeline[2].saw, 10);
  const auto exposed = run("dirty-read", "none");
  EXPECT_EQ(exposed.timeline[0].step, "take 10");
  EXPECT_EQ(exposed.timeline[1].saw, 0);
}

TEST_P(OrderLab, AVersionFileGivesWhatWasThenAndNotWhatIsNow) {
  const auto report = run("non-repeatable-read", "version-file");
  std::vector<std::int64_t> seen;
  for (const auto& line : report.timeline)
    if (line.saw) seen.push_back(*line.saw);
  EXPECT_EQ(seen, (std::vector<std::int64_t>{80, 80}));
  EXPECT_EQ(report.timeline[2].wrote, 30) << "what is there by now";
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
