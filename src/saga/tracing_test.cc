// The steps of a saga as parts of the trace that it was started in.
#include "outbox/emitter.h"
#include "saga/saga_fixture.h"

namespace skald::saga {
namespace {

using test::kSampled;

class SagaTracingTest : public SagaFixture {
 protected:
  SagaTracingTest() { spans_.wants = true; }
  std::vector<std::string> names() const {
    std::vector<std::string> out;
    for (const Span& span : spans_.heard()) {
      EXPECT_EQ(span.parent_id, span_id(kSampled));
      EXPECT_EQ(span.kind, Span::Kind::internal);
      out.push_back(span.name + (span.error ? " (" + *span.error + ")" : ""));
    }
    return out;
  }
};
INSTANTIATE_TEST_SUITE_P(Both, SagaTracingTest, testing::Values(Dialect::sqlite, Dialect::postgres), dialect_name);
using Lines = std::vector<std::string>;

TEST_P(SagaTracingTest, LocalAndRemoteStepsAreChildrenOfWhoStartedIt) {
  std::string emitted, called;
  const outbox::Routing routing;
  const OutboxOptions options;
  outbox::Emitter emitter(options, routing, [](std::uint64_t, std::uint64_t) {});
  db().set_commit_hook(&emitter);
  const auto trip = Saga<Trip>("trip")
                        .local("a",
                               [&](Local& step, Trip&) {
                                 step->emit({.type = "t", .key = "k", .payload = "{}"});
                                 emitted = step->emitted().back().traceparent;
                               })
                        .nothing_to_undo()
                        .remote("call", [&](Remote& step, Trip&) { called = step.context().traceparent; })
                        .pivot()
                        .local("b", adds("b"));
  know(trip);
  run(trip, {}, {.traceparent = kSampled});
  EXPECT_EQ(names(), (Lines{"trip: a", "trip: call", "trip: b"}));
  EXPECT_EQ(emitted, spans_.named("trip: a").traceparent());
  EXPECT_EQ(called, spans_.named("trip: call").traceparent());
  db().set_commit_hook(nullptr);
}

TEST_P(SagaTracingTest, ARefusalAndItsUndosAreToldOnceThoughTheGroupRanAgain) {
  const auto trip = Saga<Trip>("trip").local("a", adds("a")).undo(removes("a")).local("b", refuses()).nothing_to_undo();
  know(trip);
  run(trip, {}, {.traceparent = kSampled});
  EXPECT_EQ(names(), (Lines{"trip: a", "trip: b (NO: the business says no)", "trip: undo a"}));
}

TEST_P(SagaTracingTest, WhoTakesItOverGoesOnInItsTraceAndSoDoChildren) {
  const auto leg = Saga<Trip>("leg").local("ride", adds("ride")).undo(removes("ride"));
  const auto trip = Saga<Trip>("trip")
                        .child<Trip>(
                            "leg", leg, [](const Trip&) { return Trip{}; }, [](Local&, Trip&, const Trip&) {})
                        .nothing_to_undo();
  know(leg);
  know(trip);
  db().write("start", [&](Transaction& tx) {
    runner_->start_in(tx, registry_.latest("trip"), std::make_shared<Trip>(), {.traceparent = kSampled});
  });
  runner_->note_due(Duration::zero());
  settle(*runner_);
  EXPECT_EQ(names(), (Lines{"leg: ride", "trip: leg"}));
}

TEST_P(SagaTracingTest, WithoutATraceNothingIsTold) {
  const auto trip = Saga<Trip>("trip").local("a", adds("a")).undo(removes("a"));
  know(trip);
  run(trip);
  run(trip, {}, {.traceparent = unsampled(kSampled)});
  EXPECT_EQ(names(), Lines{});
}

}  // namespace
}  // namespace skald::saga
