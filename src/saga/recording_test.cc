// What is recorded of sagas, and what the checker makes of it.
#include "saga/recording.h"

#include <gmock/gmock.h>

#include "saga/saga_fixture.h"
#include "skald/commutative.h"
#include "store/tables/history.h"

namespace skald::saga {

struct Shelf {
  std::string sku;
  std::int64_t units = 0, held = 0, version = 0;
};
BOOST_DESCRIBE_STRUCT(Shelf, (), (sku, units, held, version))

}  // namespace skald::saga

template <>
struct skald::Table<skald::saga::Shelf> {
  static constexpr std::string_view name = "shelf", key = "sku", resource = "stock";
};

namespace skald::saga {
namespace {

using checker::Anomaly;

const auto kHold = GuardedUpdate<Shelf>().take(&Shelf::units).put(&Shelf::held);
const auto kGiveBack = GuardedUpdate<Shelf>().take(&Shelf::held).put(&Shelf::units);

class RecordingTest : public SagaFixture {
 protected:
  RecordingTest() {
    db().write("shelf", [](Transaction& tx) {
      tx.execute("CREATE TABLE shelf (sku TEXT PRIMARY KEY, units BIGINT, held BIGINT, version BIGINT)");
      tx.insert(Shelf{"lamp", 10, 0, 1});
    });
    runner_ = recording_runner();
  }
  std::unique_ptr<Runner> recording_runner() {
    return std::make_unique<Runner>(env_, db(), registry_,
                                    RunnerHooks{[] { return std::string("w1"); },
                                                {},
                                                {},
                                                {},
                                                [](std::vector<std::function<void()>> calls) {
                                                  for (auto& one : calls) one();
                                                },
                                                true});
  }
  std::vector<checker::Operation> history() {
    return db().read_result([](Transaction& tx) {
      std::vector<checker::Operation> out;
      for (const auto& row : tables::history::list(tx, 0, 10'000))
        for (auto& operation : checker::read_history(row.operations)) {
          operation.at = row.seq;
          out.push_back(operation);
        }
      return out;
    });
  }
  // "kind step row version_read>version_written", in order.
  std::vector<std::string> lines() {
    std::vector<std::string> out;
    for (const auto& one : history()) {
      std::string line(enum_name(one.kind));
      if (!one.step.empty()) line += " " + one.step;
      if (!one.key.empty()) line += " " + one.resource + "/" + one.key;
      if (one.version_read) line += " " + std::to_string(*one.version_read);
      if (one.version_written) line += ">" + std::to_string(*one.version_written);
      if (one.outcome) line += " " + std::string(enum_name(*one.outcome));
      out.push_back(line);
    }
    return out;
  }
  std::vector<Anomaly> anomalies(const checker::Scope& scope = {}) {
    std::vector<Anomaly> out;
    for (const auto& finding : checker::check(history(), scope)) out.push_back(finding.anomaly);
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Both, RecordingTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

void look(Local& step, Trip& trip) { trip.amount = step->find<Shelf>("lamp")->units; }
void hold(Local& step, Trip&) {
  if (!kHold.run(step.tx(), "lamp", 3)) throw Refused("SOLD_OUT", "not enough");
}
void give_back(Local& step, Trip&) { kGiveBack.run(step.tx(), "lamp", 3); }
// From what an earlier step has seen, whatever has happened since.
void overwrite(Local& step, Trip& trip) {
  const Rows written = step->query(
      "UPDATE shelf SET units = $1, version = version + 1 WHERE sku = 'lamp' RETURNING version", trip.amount - 1);
  step->note({RowAccess::Kind::write, "stock", "lamp", std::nullopt, written.get<std::int64_t>(0, 0)});
}

TEST_P(RecordingTest, ReadsAndWritesOfTypedRowsAreRecordedWithTheirVersions) {
  const auto saga = Saga<Trip>("trip").local("look", look).nothing_to_undo().local("hold", hold).undo(give_back);
  know(saga);
  run(saga);
  EXPECT_THAT(lines(), testing::ElementsAre("begin", "read look stock/lamp 1", "add hold stock/lamp>2", "action hold",
                                            "finish completed"));
  EXPECT_THAT(anomalies(), testing::IsEmpty());
}

TEST_P(RecordingTest, WhatIsRolledBackIsNotRecordedButForWhatARefusalWasDecidedOn) {
  const auto saga = Saga<Trip>("trip")
                        .local("hold", hold)
                        .undo(give_back)
                        .commit()
                        .local("decide",
                               [](Local& step, Trip& trip) {
                                 look(step, trip);
                                 throw Refused("NO", "too few");
                               })
                        .nothing_to_undo();
  know(saga);
  EXPECT_EQ(view(run(saga).id).status, SagaStatus::COMPENSATED);
  EXPECT_THAT(lines(), testing::ElementsAre("begin", "add hold stock/lamp>2", "action hold", "read decide stock/lamp 2",
                                            "undo_add hold stock/lamp>3", "compensation hold", "finish compensated"));
  EXPECT_THAT(anomalies(), testing::IsEmpty());
}

TEST_P(RecordingTest, LocksAreRecordedFromTheirGrantToTheirRelease) {
  const auto saga = Saga<Trip>("trip")
                        .local("hold", hold)
                        .undo(give_back)
                        .holds(
                            "stock", [](const Trip&) { return std::vector<std::string>{"lamp"}; }, exclusive)
                        .commit()
                        .local("end", [](Local&, Trip&) {})
                        .nothing_to_undo();
  know(saga);
  const auto first = start(saga), second = start(saga);
  settle(*runner_);
  EXPECT_EQ(view(first.id).status, SagaStatus::COMPLETED);
  EXPECT_EQ(view(second.id).status, SagaStatus::COMPLETED);
  const auto all = history();
  std::vector<std::string> locks;
  for (const auto& one : all)
    if (one.kind == checker::Kind::lock || one.kind == checker::Kind::unlock)
      locks.push_back(std::string(enum_name(one.kind)) + (one.saga_id == first.id ? " first" : " second"));
  EXPECT_THAT(locks, testing::ElementsAre("lock first", "unlock first", "lock second", "unlock second"));
  EXPECT_THAT(anomalies(), testing::IsEmpty());
}

TEST_P(RecordingTest, TheCheckerNamesALostUpdateBetweenTwoSagas) {
  const auto careless =
      Saga<Trip>("careless").local("look", look).nothing_to_undo().commit().local("write", overwrite).pivot();
  know(careless);
  start(careless);
  start(careless);
  settle(*runner_);
  EXPECT_THAT(anomalies(), testing::Contains(Anomaly::lost_update));
}

TEST_P(RecordingTest, TheCheckerIsSilentWhereTheyHoldWhatTheyRead) {
  const auto careful = Saga<Trip>("careful")
                           .local("look", look)
                           .nothing_to_undo()
                           .holds(
                               "stock", [](const Trip&) { return std::vector<std::string>{"lamp"}; }, exclusive)
                           .commit()
                           .local("write", overwrite)
                           .pivot();
  know(careful);
  start(careful);
  start(careful);
  settle(*runner_);
  EXPECT_THAT(anomalies(), testing::IsEmpty());
}

TEST_P(RecordingTest, TheCheckerNamesADirtyRead) {
  const auto holder =
      Saga<Trip>("holder").local("hold", hold).undo(give_back).commit().local("no", refuses()).nothing_to_undo();
  const auto reader = Saga<Trip>("reader").local("look", look).nothing_to_undo();
  know(holder);
  know(reader);
  start(holder);
  start(reader);
  settle(*runner_);
  EXPECT_THAT(anomalies(), testing::ElementsAre(Anomaly::dirty_read));
}

TEST_P(RecordingTest, ChildrenAreUnderTheirRoot) {
  const auto child = Saga<Trip>("child").local("hold", hold).undo(give_back);
  const auto parent = Saga<Trip>("parent")
                          .child<Trip>(
                              "go", child, [](const Trip& trip) { return trip; }, [](Local&, Trip&, const Trip&) {})
                          .pivot();
  know(child);
  know(parent);
  const auto begun = run(parent);
  EXPECT_EQ(view(begun.id).status, SagaStatus::COMPLETED);
  for (const auto& one : history()) EXPECT_EQ(one.saga_id, begun.id);
  EXPECT_THAT(lines(), testing::ElementsAre("begin", "add .0 hold stock/lamp>2", "action .0 hold",
                                            "finish .0 completed", "finish completed"));
  EXPECT_THAT(anomalies(), testing::IsEmpty());
}

TEST_P(RecordingTest, WhatAChildHasCompletedStaysWhenItsParentIsUndone) {
  const auto child = Saga<Trip>("child").local("hold", hold).undo(give_back);
  const auto parent = Saga<Trip>("parent")
                          .child<Trip>(
                              "go", child, [](const Trip& trip) { return trip; }, [](Local&, Trip&, const Trip&) {})
                          .nothing_to_undo()
                          .local("no", refuses())
                          .nothing_to_undo();
  know(child);
  know(parent);
  EXPECT_EQ(view(run(parent).id).status, SagaStatus::COMPENSATED);
  EXPECT_THAT(anomalies(), testing::IsEmpty());
}

TEST_P(RecordingTest, ACallWithoutAnAnswerThatIsCancelledCountsAsDone) {
  const auto saga = Saga<Trip>("trip")
                        .remote("book", [](Remote&, Trip&) { throw CommitUnknown("LOST", "no answer came"); })
                        .undo([](Remote&, Trip&) {})
                        .retry(3, 1ms)
                        .deadline(1us);
  know(saga);
  EXPECT_EQ(view(run(saga).id).status, SagaStatus::COMPENSATED);
  EXPECT_THAT(lines(), testing::ElementsAre("begin", "action book", "compensation book", "finish compensated"));
  EXPECT_THAT(anomalies(), testing::IsEmpty());
}

TEST_P(RecordingTest, NothingIsRecordedUnlessAskedFor) {
  runner_ = runner_as("w1");
  const auto saga = Saga<Trip>("trip").local("hold", hold).undo(give_back);
  know(saga);
  run(saga);
  EXPECT_THAT(lines(), testing::IsEmpty());
}

TEST_P(RecordingTest, OldCommitsAreForgotten) {
  const auto saga = Saga<Trip>("trip").local("hold", hold).undo(give_back);
  know(saga);
  run(saga);
  run(saga);
  const auto forget = [&](Duration age) {
    return db().write_result("forget",
                             [&](Transaction& tx) { return tables::history::forget(tx, tx.now() - age, 100); });
  };
  EXPECT_EQ(forget(1h), 0);
  EXPECT_EQ(forget(-1h), 2);
  EXPECT_THAT(lines(), testing::IsEmpty());
}

}  // namespace
}  // namespace skald::saga
