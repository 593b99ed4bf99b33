#include "http/trace.h"

#include <gtest/gtest.h>

#include "http/fake_env.h"

namespace skald::http {
namespace {

constexpr std::string_view kGood = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

TEST(Trace, AValidContextKeepsItsTraceAndGetsANewSpan) {
  CountingRandom random;
  const std::string ours = continue_trace(kGood, random);
  EXPECT_TRUE(is_traceparent(ours));
  EXPECT_EQ(trace_id(ours), trace_id(kGood));
  EXPECT_NE(ours, kGood);
}

TEST(Trace, WithoutAValidContextANewTraceBegins) {
  CountingRandom random;
  for (std::string_view bad : {"", "x", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
                               "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
                               "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                               "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
                               "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
                               "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01x"}) {
    EXPECT_FALSE(is_traceparent(bad)) << bad;
    EXPECT_TRUE(is_traceparent(continue_trace(bad, random))) << bad;
  }
  EXPECT_TRUE(is_traceparent("01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more"));
}

}  // namespace
}  // namespace skald::http
