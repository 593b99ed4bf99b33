#include "skald/trace.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

constexpr std::string_view kGood = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

struct MixedRandom final : Random {
  std::uint64_t next() override { return state += 0x9e3779b97f4a7c15; }
  std::uint64_t state = 0;
};
struct TickingClock final : Clock {
  Time now() const override { return from_micros(++micros); }
  Instant steady() const override { return {}; }
  mutable std::int64_t micros = 0;
};
struct Listener final : Observer {
  bool traces() const override { return wants; }
  void span(const Span& span) override { heard.push_back(span); }
  bool wants = true;
  std::vector<Span> heard;
};

TEST(Trace, AValidContextKeepsItsTraceAndGetsANewSpan) {
  MixedRandom random;
  const std::string ours = continue_trace(kGood, random, 0);
  EXPECT_TRUE(is_traceparent(ours));
  EXPECT_EQ(trace_id(ours), trace_id(kGood));
  EXPECT_NE(span_id(ours), span_id(kGood));
  EXPECT_TRUE(is_sampled(ours));
}

TEST(Trace, WithoutAValidContextANewTraceBegins) {
  MixedRandom random;
  for (std::string_view bad : {"", "x", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                               "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                               "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                               "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                               "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
                               "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x"}) {
    EXPECT_FALSE(is_traceparent(bad)) << bad;
    EXPECT_FALSE(is_sampled(bad)) << bad;
    EXPECT_TRUE(is_traceparent(continue_trace(bad, random))) << bad;
  }
  EXPECT_TRUE(is_traceparent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"));
}

TEST(Trace, OfNewTracesTheShareAskedForIsSampled) {
  MixedRandom random;
  const auto sampled = [&](double ratio) {
    int out = 0;
    for (int i = 0; i < 1000; ++i) out += is_sampled(continue_trace("", random, ratio));
    return out;
  };
  EXPECT_EQ(sampled(1), 1000);
  EXPECT_EQ(sampled(0), 0);
  EXPECT_NEAR(sampled(0.25), 250, 30);
}

TEST(Trace, ASpanIsAChildOfItsParentAndTheParentOfWhatIsInside) {
  TickingClock clock;
  MixedRandom random;
  Listener listener;
  const Env env{clock, random, listener};
  auto outer = begin_span(env, kGood, Span::Kind::client, {"ask ", "course"});
  ASSERT_TRUE(outer);
  auto inner = begin_span(env, outer->traceparent(), Span::Kind::internal, {"look"});
  ASSERT_TRUE(inner);
  end_failed_span(env, *inner, "gone");
  end_span(env, *outer);
  ASSERT_EQ(listener.heard.size(), 2u);
  const Span &first = listener.heard[0], &second = listener.heard[1];
  EXPECT_EQ(second.name, "ask course");
  EXPECT_EQ(second.parent_id, span_id(kGood));
  EXPECT_EQ(second.trace_id, trace_id(kGood));
  EXPECT_EQ(first.parent_id, second.span_id);
  EXPECT_EQ(first.error, "gone");
  EXPECT_FALSE(second.error);
  EXPECT_LT(second.start, first.start);
  EXPECT_LT(first.end, second.end);
}

TEST(Trace, NoSpanIsMadeWhereNobodyWantsIt) {
  TickingClock clock;
  MixedRandom random;
  Listener listener;
  const Env env{clock, random, listener};
  const auto made = [&](std::string_view parent) {
    return begin_span(env, parent, Span::Kind::internal, {"x"}).has_value();
  };
  EXPECT_TRUE(made(kGood));
  EXPECT_FALSE(made(unsampled(kGood)));
  EXPECT_FALSE(made(""));
  listener.wants = false;
  const std::uint64_t drawn = random.state;
  EXPECT_FALSE(made(kGood));
  EXPECT_EQ(random.state, drawn);
}

}  // namespace
}  // namespace skald
