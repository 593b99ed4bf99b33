// Sending and handling as parts of the trace that an event belongs to.
#include "outbox/emitter.h"
#include "outbox/relay_fixture.h"

namespace skald::outbox {
namespace {

using test::kSampled;

class RelayTracingTest : public RelayTest {
 protected:
  RelayTracingTest() {
    spans_.wants = true;
    bus_.answers = true;
  }
};
INSTANTIATE_TEST_SUITE_P(Databases, RelayTracingTest, kBothDatabases, name_of);

TEST_P(RelayTracingTest, ASendIsAChildOfItsEmitterAndTheParentOfWhatArrives) {
  emit("e1", "sent", "k", kSampled);
  run();
  const Span sent = spans_.named("send sent");
  EXPECT_EQ(sent.kind, Span::Kind::producer);
  EXPECT_EQ(sent.parent_id, span_id(kSampled));
  EXPECT_EQ(sent.trace_id, trace_id(kSampled));
  EXPECT_FALSE(sent.error);
  EXPECT_EQ(bus_.traces, std::vector<std::string>{sent.traceparent()});
}

TEST_P(RelayTracingTest, EveryAttemptSendsTheSameBytesAndAFailedOneIsASpanBeside) {
  bus_.answer = Outcome::cut_off("the line broke");
  emit("e1", "sent", "k", kSampled);
  relay_.run_once();
  relay_.run_once();
  bus_.answer = Outcome::ok();
  run();
  ASSERT_EQ(bus_.sent.size(), 2u);
  EXPECT_EQ(bus_.traces[0], bus_.traces[1]);
  const std::vector<Span> spans = spans_.heard();
  ASSERT_EQ(spans.size(), 2u);
  EXPECT_EQ(spans[0].error, "the line broke");
  EXPECT_NE(spans[0].traceparent(), bus_.traces[0]);
  EXPECT_EQ(spans[1].traceparent(), bus_.traces[0]);
  EXPECT_EQ(spans[0].parent_id, spans[1].parent_id);
}

TEST_P(RelayTracingTest, WhatAHandlerEmitsIsAChildOfItsHandling) {
  std::string inside;
  Emitter emitter(options_, routing_, [](std::uint64_t, std::uint64_t) {});
  db().set_commit_hook(&emitter);
  routing_.add(Consumer{.name = "e", .type = "asked", .handle = [&](Transaction& tx, const Message& message) {
                          inside = message.event.traceparent;
                          tx.emit({.id = "e2", .type = "answered", .key = "k", .payload = "{}"});
                        }});
  emit("e1", "asked", "k", kSampled);
  run();
  const Span handled = spans_.named("handle asked");
  EXPECT_EQ(handled.kind, Span::Kind::consumer);
  EXPECT_EQ(handled.parent_id, span_id(kSampled));
  EXPECT_EQ(inside, handled.traceparent());
  EXPECT_EQ(entry("e2").event.traceparent, handled.traceparent());
  db().set_commit_hook(nullptr);
}

TEST_P(RelayTracingTest, AHandlerThatFailsInABatchIsToldOnceWithItsReason) {
  routing_.add(Consumer{
      .name = "e", .type = "bad", .handle = [](Transaction&, const Message&) { throw std::runtime_error("no room"); }});
  emit("e1", "local", "k", kSampled);
  emit("e2", "bad", "k", kSampled);
  run();
  ASSERT_EQ(spans_.heard().size(), 2u) << "what was undone with the batch is not told";
  EXPECT_EQ(spans_.named("handle bad").error, "no room");
  EXPECT_FALSE(spans_.named("handle local").error);
}

TEST_P(RelayTracingTest, NothingIsToldAndNothingChangedWhereTheTraceIsNotSampled) {
  emit("e1", "both", "a", "");
  emit("e2", "both", "b", unsampled(kSampled));
  run();
  EXPECT_TRUE(spans_.heard().empty());
  EXPECT_EQ(std::ranges::count(bus_.traces, unsampled(kSampled)), 1);
  spans_.wants = false;
  emit("e3", "both", "c", kSampled);
  run();
  EXPECT_TRUE(spans_.heard().empty());
  EXPECT_EQ(bus_.traces.back(), kSampled);
}

}  // namespace
}  // namespace skald::outbox
