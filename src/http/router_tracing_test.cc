// Requests as spans.
#include <gtest/gtest.h>

#include "http/fake_env.h"
#include "http/router.h"
#include "support/span_listener.h"

namespace skald::http {
namespace {

using test::kSampled;

struct RouterTracingTest : testing::Test {
  FakeClock clock;
  CountingRandom random;
  test::SpanListener spans;
  Env env{clock, random, spans};

  std::unique_ptr<Routes> open(double ratio = 1) {
    auto routes = std::make_unique<Routes>(env, Authenticator(env, std::nullopt), "1", ratio);
    routes->get("/things/{id}", Access::customer, describe<void, RawJson>("x"), [this](const Request& request) {
      inside = request.traceparent;
      clock.micros += 250;
      if (request.param("id") == "bad") throw std::runtime_error("broken");
      return Response::text("x");
    });
    routes->get("/probe", Access::open, describe<void, RawJson>("x"),
                [](const Request&) { return Response::text("x"); });
    return routes;
  }
  static Response ask(const Routes& routes, const std::string& path, const std::string& trace = "") {
    Request request;
    request.method = "GET";
    request.path = path;
    if (!trace.empty()) request.headers["traceparent"] = trace;
    return routes.dispatch(std::move(request));
  }
  std::string inside;
};

TEST_F(RouterTracingTest, ARequestIsAChildOfItsClientAndTheParentOfWhatItDoes) {
  spans.wants = true;
  ask(*open(0), "/things/7", kSampled);
  ASSERT_EQ(spans.heard().size(), 1u);
  const Span span = spans.heard()[0];
  EXPECT_EQ(span.name, "GET /things/{id}");
  EXPECT_EQ(span.kind, Span::Kind::server);
  EXPECT_EQ(span.trace_id, trace_id(kSampled));
  EXPECT_EQ(span.parent_id, span_id(kSampled));
  EXPECT_EQ(span.traceparent(), inside);
  EXPECT_EQ(span.end - span.start, 250us);
  EXPECT_EQ(std::get<std::int64_t>(span.attributes.at(1).value), 200);
  EXPECT_FALSE(span.error);
}

TEST_F(RouterTracingTest, OnlyTheServersOwnFaultIsAnError) {
  spans.wants = true;
  const auto routes = open();
  ask(*routes, "/things/bad");
  EXPECT_EQ(spans.named("GET /things/{id}").error, "broken");
  EXPECT_EQ(spans.named("GET /things/{id}").parent_id, "");
  ask(*routes, "/nowhere/" + std::string(500, 'x'));
  EXPECT_EQ(spans.heard().at(1).name, "GET") << "names are few";
  EXPECT_FALSE(spans.heard().at(1).error);
}

TEST_F(RouterTracingTest, ProbesBeginNoTraceButMayBePartOfOne) {
  spans.wants = true;
  const auto routes = open();
  ask(*routes, "/probe");
  EXPECT_TRUE(spans.heard().empty());
  ask(*routes, "/probe", kSampled);
  EXPECT_EQ(spans.heard().size(), 1u);
}

TEST_F(RouterTracingTest, TheRatioIsOfRequestsThatBringNoTrace) {
  spans.wants = true;
  const auto none = open(0), some = open(0.5);
  for (int i = 0; i < 100; ++i) ask(*none, "/things/7");
  EXPECT_TRUE(spans.heard().empty());
  EXPECT_FALSE(is_sampled(inside)) << "nor does anybody behind it make spans";
  ask(*none, "/things/7", unsampled(kSampled));
  EXPECT_TRUE(spans.heard().empty());
  for (int i = 0; i < 1000; ++i) ask(*some, "/things/7");
  EXPECT_NEAR(static_cast<double>(spans.heard().size()), 500, 60);
}

TEST_F(RouterTracingTest, WhereNobodyListensTheContextStillGoesOn) {
  ask(*open(0), "/things/7");
  EXPECT_TRUE(spans.heard().empty());
  EXPECT_TRUE(is_sampled(inside));
}

}  // namespace
}  // namespace skald::http
