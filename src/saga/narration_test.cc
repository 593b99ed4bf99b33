// What the log says of sagas that meet trouble.
#include <algorithm>

#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class NarrationTest : public SagaFixture {
 protected:
  // The fields of those lines that say just this.
  std::vector<boost::json::object> told(const std::string& message) {
    std::vector<boost::json::object> out;
    for (const auto& line : spans_.lines())
      if (line.message == message) out.push_back(json::parse(line.fields).as_object());
    return out;
  }
  // In all; a database that is slow may have something to say as well.
  std::int64_t lines_of_sagas() {
    const auto lines = spans_.lines();
    return std::ranges::count_if(lines,
                                 [](const auto& line) { return line.fields.find("[Saga]") != line.fields.npos; });
  }
  void expect_told_once(const std::string& message, const std::string& saga_id, const std::string& code) {
    const auto lines = told(message);
    ASSERT_EQ(lines.size(), 1u) << message;
    EXPECT_EQ(lines[0].at("tag"), "[Saga]");
    EXPECT_EQ(lines[0].at("sagaId"), saga_id.c_str());
    EXPECT_EQ(lines[0].at("type"), "trip");
    EXPECT_EQ(lines[0].at("key"), "T1");
    if (!code.empty()) {
      EXPECT_EQ(lines[0].at("code"), code.c_str());
    }
  }
  Saga<Trip> trip_that(std::function<void()> fails) {
    return Saga<Trip>("trip")
        .local("a", adds("a"))
        .undo(removes("a"))
        .local("b", [fails](Local&, Trip&) { fails(); })
        .nothing_to_undo()
        .retry(3, 1ms);
  }
};
INSTANTIATE_TEST_SUITE_P(Both, NarrationTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST_P(NarrationTest, OneThatGoesWellIsNotTalkedAbout) {
  const auto trip = trip_that([] {});
  know(trip);
  run(trip, {}, {.key = "T1"});
  EXPECT_EQ(lines_of_sagas(), 0);
}

TEST_P(NarrationTest, ARefusalIsToldWithItsStepAndReasonAndThatItIsUndone) {
  const auto trip = trip_that([] { throw Refused("SOLD_OUT", "no seat left"); });
  know(trip);
  const std::string id = run(trip, {}, {.key = "T1"}).id;
  expect_told_once("a saga failed: what it did is undone", id, "SOLD_OUT");
  EXPECT_EQ(told("a saga failed: what it did is undone")[0].at("step"), "b");
  EXPECT_EQ(told("a saga failed: what it did is undone")[0].at("error"), "no seat left");
  expect_told_once("a saga is compensated", id, "SOLD_OUT");
  EXPECT_EQ(lines_of_sagas(), 2);
}

TEST_P(NarrationTest, EachTryThatIsBusyStaleOrFailsIsOneLineOfItsOwnKind) {
  struct Case {
    std::string message, code;
    std::function<void()> fails;
  };
  const std::vector<Case> cases = {
      {"what a saga needs is busy: it tries again", "BUSY", [] { throw Busy("BUSY", "later"); }},
      {"what a saga has read has changed: it reads again", "STALE_ROW", [] { throw Stale("STALE_ROW", "again"); }},
      {"a step of a saga failed: it is tried again", "LOCK_TIMEOUT", [] { throw LockTimeout("LOCK_TIMEOUT", "no"); }}};
  for (const Case& one : cases) {
    auto failures = std::make_shared<int>(0);
    Registry known;
    const auto trip = trip_that([failures, &one] {
      if (++*failures == 1) one.fails();
    });
    known.add(trip.definition());
    const auto runner = runner_as("w1", known);
    const std::string id = runner->start(known.latest("trip"), std::make_shared<Trip>(), StartOptions{.key = "T1"}).id;
    settle(*runner);
    EXPECT_EQ(view(id).status, SagaStatus::COMPLETED);
    expect_told_once(one.message, id, one.code);
    EXPECT_EQ(told(one.message)[0].at("attempt").as_int64(), 1);
  }
  EXPECT_EQ(lines_of_sagas(), static_cast<std::int64_t>(cases.size()));
}

TEST_P(NarrationTest, ARefusalOfASagaThatOnlyGoesForwardIsToldAtEachTry) {
  auto refusals = std::make_shared<int>(0);
  const auto trip = Saga<Trip>("trip")
                        .local("a",
                               [refusals](Local&, Trip&) {
                                 if (++*refusals <= 2) throw Refused("SOLD_OUT", "no seat left");
                               })
                        .forward_only();
  know(trip);
  const std::string id = run(trip, {}, {.key = "T1"}).id;
  settle(*runner_);
  EXPECT_EQ(view(id).status, SagaStatus::COMPLETED);
  const auto lines = told("a step of a saga failed: it is tried again");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[1].at("code"), "SOLD_OUT");
  EXPECT_EQ(lines[1].at("attempt").as_int64(), 2);
}

TEST_P(NarrationTest, WhoBeginsToWaitForALockIsToldOfOnce) {
  const auto trip = Saga<Trip>("trip")
                        .local("a", adds("a"))
                        .undo(removes("a"))
                        .holds("product", &Trip::name, exclusive, wait_up_to(1h))
                        .await("pause", "go")
                        .timeout(1h);
  know(trip);
  start(trip, {.name = "lamp"}, {.key = "T0"});
  const std::string id = start(trip, {.name = "lamp"}, {.key = "T1"}).id;
  settle(*runner_);
  expect_told_once("what a saga needs is busy: it waits for its turn", id, "");
  EXPECT_EQ(told("what a saga needs is busy: it waits for its turn")[0].at("resource"), "product lamp");
}

}  // namespace
}  // namespace skald::saga
