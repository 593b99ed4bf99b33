#include "runtime/tracing.h"

#include <gtest/gtest.h>

#include "observe/program_observer.h"
#include "support/http_receiver.h"

namespace skald::runtime {
namespace {

struct TracingTest : testing::Test {
  std::unique_ptr<Clock> clock = system_clock();
  std::unique_ptr<Random> random = system_random();
  Metrics metrics;
  JsonLog log{*clock, Observer::Level::critical};
  ProgramObserver observer{metrics, log};
  Env env{*clock, *random, observer};
  test::HttpReceiver receiver;

  bool counted(const std::string& line) const { return metrics.text().find("\n" + line + "\n") != std::string::npos; }
};

TEST_F(TracingTest, StoppingSendsWhatIsThere) {
  EXPECT_FALSE(observer.traces());
  {
    Tracing tracing(env, {.endpoint = receiver.url("")});
    observer.export_to(&tracing.spans());
    EXPECT_TRUE(observer.traces());
    for (int i = 0; i < 600; ++i) observer.span(Span{.trace_id = "t", .span_id = "s"});
    observer.export_to(nullptr);
    tracing.stop(10s);
  }
  EXPECT_EQ(receiver.requests().size(), 2u);
  EXPECT_TRUE(counted("skald_spans_sent_total 600")) << metrics.text();
}

TEST_F(TracingTest, ACollectorThatHangsCostsNobodyAnything) {
  receiver.always({.manner = test::HttpReceiver::Manner::hang});
  const Instant begun = clock->steady();
  {
    Tracing tracing(env, {.endpoint = receiver.url("")});
    observer.export_to(&tracing.spans());
    for (int i = 0; i < 512; ++i) observer.span(Span{.trace_id = "t", .span_id = "s"});
    receiver.wait_for_requests(1);
    for (int i = 0; i < 2'100; ++i) observer.span(Span{.trace_id = "t", .span_id = "s"});
    observer.export_to(nullptr);
    tracing.stop(100ms);
  }
  EXPECT_LT(clock->steady() - begun, 5s) << "the request itself may take ten";
  EXPECT_TRUE(counted("skald_spans_dropped_total 2612")) << metrics.text();
}

}  // namespace
}  // namespace skald::runtime
