// How long what fails is tried, and how often.
#include "saga/progress.h"
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

class PatienceTest : public SagaFixture {};
INSTANTIATE_TEST_SUITE_P(Both, PatienceTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);

TEST(Pauses, GrowByTheFirstOrDoubleUpToTenSeconds) {
  const auto random = system_random();
  const auto between = [&](int attempt, bool patient, Duration least) {
    const Duration pause = pause_after({3, 100ms}, attempt, patient, *random);
    EXPECT_GE(pause, least) << attempt;
    EXPECT_LE(pause, least + least / 4) << attempt;
  };
  for (int attempt = 1; attempt <= 3; ++attempt) between(attempt, false, 100ms * attempt);
  for (int attempt = 1; attempt <= 7; ++attempt) between(attempt, true, 100ms * (1 << (attempt - 1)));
  for (const int attempt : {8, 9, 40, 1000}) between(attempt, true, 10s);
}

TEST_P(PatienceTest, ACallWithoutAnAnswerIsAskedAgainUntilPatienceIsOver) {
  int calls = 0;
  const auto trip = Saga<Trip>("trip")
                        .remote("call",
                                [&](Remote&, Trip&) {
                                  ++calls;
                                  throw CommitUnknown("LOST", "no answer");
                                })
                        .retry(1, 1ms)
                        .pivot();
  know(trip);
  const Started begun = start(trip);
  const Instant began = clock_->steady();
  settle(*runner_);
  EXPECT_GE(clock_->steady() - began, kPatience);
  EXPECT_EQ(view(begun.id).status, SagaStatus::NEEDS_HELP);
  EXPECT_EQ(view(begun.id).error->code, "LOST");
  EXPECT_GE(calls, 2);
  EXPECT_LE(calls, 12) << "less and less often";
}

TEST_P(PatienceTest, ItBeginsAnewWithWhatSucceeds) {
  runner_ = runner_as("w1", registry_, 1h);  // a busy machine is no reason to call a person here
  int calls = 0;
  const auto trip = Saga<Trip>("trip")
                        .remote("call",
                                [&](Remote&, Trip&) {
                                  if (++calls <= 3) throw CommitUnknown("LOST", "no answer");
                                })
                        .retry(1, 1ms)
                        .pivot()
                        .await("pause", "go")
                        .timeout(1h);
  know(trip);
  const Started begun = run(trip);
  EXPECT_EQ(view(begun.id).step, "pause");
  const auto progress = db().read_result(
      [&](Transaction& tx) { return from_json<Progress>(tables::saga::find(tx, begun.id)->progress); });
  EXPECT_FALSE(progress.troubled_since);
  EXPECT_EQ(progress.attempt, 0);
}

}  // namespace
}  // namespace skald::saga
