#include "http/router.h"

#include <gtest/gtest.h>

#include "http/fake_env.h"
#include "http/jwt.h"
#include "skald/trace.h"

namespace skald::http {
namespace {

constexpr std::string_view kRouterSecret = "a secret of the tests, long enough";

Request request_for(std::string method, std::string target) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(target);
  return request;
}

struct RouterTest : testing::Test {
  FakeEnv fake;
  Routes routes{fake.env, Authenticator(fake.env, std::nullopt), "1.2.3"};

  Response get(std::string target) { return routes.dispatch(request_for("GET", std::move(target))); }
  void serve(std::string path, std::string says) {
    routes.get(std::move(path), Access::customer, describe<void, RawJson>("x"),
               [says = std::move(says)](const Request&) { return Response::text(says); });
  }
  static bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }
};

TEST_F(RouterTest, AFilterThatAPathDoesNotKnowIsRefusedWithThoseThatItKnows) {
  const auto say = [](const Request&) { return Response::text("listed"); };
  routes.get("/things", Access::customer, describe<void, Listing<RawJson>>("x", 200, {"colour"}), say);
  routes.get("/thing", Access::customer, describe<void, RawJson>("x"), say);
  routes.get("/probe", Access::open, describe<void, RawJson>("x"), say);
  EXPECT_EQ(get("/things?colour=red&limit=1&cursor=x").status, 200);
  const Response refused = get("/things?status=AVAILABLE");
  EXPECT_EQ(refused.status, 422);
  EXPECT_TRUE(has(refused.body, "UNKNOWN_FILTER")) << refused.body;
  EXPECT_TRUE(has(refused.body, "colour, limit, cursor")) << refused.body;
  EXPECT_EQ(get("/thing?limit=1").status, 422);
  EXPECT_EQ(get("/probe?anything=1").status, 200);
}

TEST_F(RouterTest, NamedSegmentsBecomeParamsDecoded) {
  const Doc doc = describe<void, RawJson>("x", 200, {"q"});
  routes.get("/things/{id}/parts/{n}", Access::customer, doc, [](const Request& request) {
    return Response::text(request.param("id") + "|" + request.param("n") + "|" +
                          request.query_value("q").value_or("-"));
  });
  EXPECT_EQ(get("/things/a%2Fb/parts/%C3%A9?q=1+2").body, "a/b|\xc3\xa9|1 2");
  EXPECT_EQ(get("/things/a/parts/7").body, "a|7|-");
  EXPECT_EQ(get("/things//parts/7").status, 404);
  EXPECT_EQ(get("/things/a/parts").status, 404);
}

TEST_F(RouterTest, ALiteralWinsOverANameAndTheNameIsTriedWhenTheLiteralLeadsNowhere) {
  serve("/a/b/c", "literal");
  serve("/a/{x}/d", "named");
  EXPECT_EQ(get("/a/b/c").body, "literal");
  EXPECT_EQ(get("/a/b/d").body, "named");
  EXPECT_EQ(get("/a/z/c").status, 404);
}

TEST_F(RouterTest, AnUnknownPathIs404AndAKnownOneWithAnotherMethod405WithAllow) {
  serve("/a", "x");
  EXPECT_TRUE(has(get("/b").body, "UNKNOWN_PATH"));
  const Response response = routes.dispatch(request_for("DELETE", "/a"));
  EXPECT_EQ(response.status, 405);
  EXPECT_EQ(response.headers.at("allow"), "GET, HEAD");
  EXPECT_EQ(routes.dispatch(request_for("HEAD", "/a")).status, 200);
}

TEST_F(RouterTest, BadTargetsAre400) {
  for (const char* bad : {"/%", "/a%00", "http://elsewhere/", "*", ""}) {
    EXPECT_EQ(get(bad).status, 400) << bad;
    EXPECT_EQ(get(bad).content_type, "application/problem+json");
  }
}

TEST_F(RouterTest, ThrownErrorsBecomeProblemsAndTheCauseOfAFailureIsLoggedNotShown) {
  routes.get("/busy", Access::customer, {},
             [](const Request&) -> Response { throw Busy("HELD", "held by somebody", 2s); });
  routes.get("/broken", Access::customer, {},
             [](const Request&) -> Response { throw std::runtime_error("the inside"); });
  routes.get("/foreign", Access::customer, {}, [](const Request&) -> Response { throw 7; });
  const Response busy = get("/busy");
  EXPECT_EQ(busy.status, 409);
  EXPECT_EQ(busy.headers.at("retry-after"), "2");
  const Response broken = get("/broken");
  EXPECT_EQ(broken.status, 500);
  EXPECT_FALSE(has(broken.body, "the inside"));
  EXPECT_TRUE(has(broken.body, broken.headers.at("x-request-id")));
  ASSERT_EQ(fake.observer.lines.back().first, Observer::Level::warn);
  EXPECT_TRUE(has(fake.observer.lines.back().second, "the inside"));
  EXPECT_TRUE(has(fake.observer.lines.back().second, broken.headers.at("x-request-id")));
  EXPECT_EQ(get("/foreign").status, 500);
}

TEST_F(RouterTest, EveryAnswerIsStampedAndCounted) {
  Request request = request_for("GET", "/nowhere?secret=1");
  request.headers["traceparent"] = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const Response response = routes.dispatch(request);
  EXPECT_EQ(trace_id(response.headers.at("traceparent")), "0af7651916cd43dd8448eb211c80319c");
  EXPECT_EQ(response.headers.at("x-request-id").size(), 26u);
  EXPECT_TRUE(is_traceparent(get("/").headers.at("traceparent")));
  EXPECT_EQ(fake.observer.counts["http_requests_total"], 2);
  EXPECT_FALSE(has(fake.observer.lines.front().second, "secret"));
}

TEST_F(RouterTest, AHeaderThatWouldSplitTheAnswerIsAFailure) {
  routes.get("/split", Access::customer, {}, [](const Request&) {
    Response response;
    response.headers["location"] = "/x\r\nset-cookie: a=b";
    return response;
  });
  const Response response = get("/split");
  EXPECT_EQ(response.status, 500);
  EXPECT_FALSE(response.headers.contains("location"));
}

TEST_F(RouterTest, RoutesThatMakeNoSenseAreRefusedAtStart) {
  serve("/a/{x}", "x");
  EXPECT_THROW(serve("/a/{y}", "twice"), Invalid);
  for (const char* bad : {"", "a", "/a//b", "/{}", "/{x"}) EXPECT_THROW(serve(bad, "x"), Invalid) << bad;
}

TEST_F(RouterTest, AccessIsCheckedBeforeTheHandler) {
  Routes guarded(fake.env, Authenticator(fake.env, std::string(kRouterSecret)), "1");
  guarded.get("/mine", Access::customer, {},
              [](const Request& request) { return Response::text(request.caller.subject); });
  guarded.get("/all", Access::admin, {}, [](const Request&) { return Response::text("all"); });
  Request request = request_for("GET", "/mine");
  const Response missing = guarded.dispatch(request);
  EXPECT_EQ(missing.status, 401);
  EXPECT_EQ(missing.headers.at("www-authenticate"), "Bearer");
  const Time now = fake.clock.now();
  request.headers["authorization"] = "Bearer " + sign_token(kRouterSecret, {"kim", Role::customer, now, now + 1h});
  EXPECT_EQ(guarded.dispatch(request).body, "kim");
  request.path = "/all";
  EXPECT_EQ(guarded.dispatch(request).status, 403);
  EXPECT_EQ(guarded.dispatch(request_for("GET", "/openapi.json")).status, 200);
}

TEST_F(RouterTest, WhoIsTurnedAwayIsCountedAndLoggedNotOftenerThanOnceASecond) {
  Routes guarded(fake.env, Authenticator(fake.env, std::string(kRouterSecret)), "1");
  guarded.get("/all", Access::admin, {}, [](const Request&) { return Response::text("all"); });
  const auto warnings = [&] {
    std::vector<std::string> out;
    for (const auto& [level, line] : fake.observer.lines)
      if (level == Observer::Level::warn) out.push_back(line);
    return out;
  };
  for (int i = 0; i < 5; ++i) EXPECT_EQ(guarded.dispatch(request_for("GET", "/all")).status, 401);
  const Time now = fake.clock.now();
  Request customer = request_for("GET", "/all");
  customer.headers["authorization"] = "Bearer " + sign_token(kRouterSecret, {"kim", Role::customer, now, now + 1h});
  EXPECT_EQ(guarded.dispatch(customer).status, 403);
  EXPECT_EQ(fake.observer.counts["http_unauthorized_total"], 5);
  EXPECT_EQ(fake.observer.counts["http_forbidden_total"], 1);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_TRUE(has(warnings()[0], "MISSING_TOKEN"));
  fake.clock.micros += 1'000'000;
  guarded.dispatch(customer);
  ASSERT_EQ(warnings().size(), 2u);
  EXPECT_TRUE(has(warnings()[1], "FORBIDDEN_ROLE"));
  EXPECT_TRUE(has(warnings()[1], "\"unlogged\":5")) << warnings()[1];
}

TEST_F(RouterTest, BeyondItsRateACallerIsToldWhenToComeAgain) {
  Routes limited(fake.env, Authenticator(fake.env, std::string(kRouterSecret)), "1", 1,
                 {.per_subject = 2, .per_address = 4});
  limited.get("/mine", Access::customer, {}, [](const Request&) { return Response::text("x"); });
  const Time now = fake.clock.now();
  const auto ask = [&](const std::string& subject, const std::string& peer, const std::string& path = "/mine") {
    Request request = request_for("GET", path);
    request.peer = peer;
    if (!subject.empty())
      request.headers["authorization"] =
          "Bearer " + sign_token(kRouterSecret, {subject, Role::customer, now, now + 1h});
    return limited.dispatch(request);
  };
  EXPECT_EQ(ask("kim", "10.0.0.1").status, 200);
  EXPECT_EQ(ask("kim", "10.0.0.2").status, 200);
  const Response refused = ask("kim", "10.0.0.3");
  EXPECT_EQ(refused.status, 429);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_TRUE(has(refused.body, "RATE_LIMITED"));
  EXPECT_EQ(ask("lee", "10.0.0.3").status, 200) << "another caller has its own rate";
  EXPECT_EQ(fake.observer.counts["http_rate_limited_total"], 1);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(ask("", "10.0.0.9").status, 401) << "tokens can be guessed no faster";
  EXPECT_EQ(ask("", "10.0.0.9").status, 429);
  EXPECT_EQ(ask("", "10.0.0.9", "/openapi.json").status, 200) << "what is open is for probes";
  fake.clock.micros += 500'000;
  EXPECT_EQ(ask("kim", "10.0.0.1").status, 200);
  EXPECT_EQ(ask("kim", "10.0.0.1").status, 429);
}

TEST_F(RouterTest, AStreamGivesItsFirstPartInProcess) {
  routes.stream("/events", Access::customer, {}, [](const Request&) {
    return Stream{"topic", [] { return std::optional<std::string>("data: 1\n\n"); }};
  });
  const Response response = get("/events");
  EXPECT_EQ(response.content_type, "text/event-stream");
  EXPECT_EQ(response.body, "data: 1\n\n");
}

TEST_F(RouterTest, AStreamThatIsRefusedIsAnOrdinaryAnswer) {
  routes.stream("/events", Access::customer, {},
                [](const Request&) -> Stream { throw NotFound("NOTHING", "there is nothing to tell of"); });
  EXPECT_EQ(get("/events").status, 404);
}

TEST_F(RouterTest, ACallerWhoIsVouchedForNeedsNoTokenAndStillTheRole) {
  Routes guarded(fake.env, Authenticator(fake.env, std::string(kRouterSecret)), "1");
  guarded.get("/who", Access::admin, describe<void, RawJson>("x"),
              [](const Request& request) { return Response::text(request.caller.subject); });
  EXPECT_EQ(guarded.dispatch(request_for("GET", "/who")).status, 401);
  EXPECT_EQ(guarded.dispatch_as({Role::system, "booking"}, request_for("GET", "/who")).body, "booking");
  EXPECT_EQ(guarded.dispatch_as({Role::customer, "kim"}, request_for("GET", "/who")).status, 403);
}

TEST_F(RouterTest, OpenApiIsJsonAndTellsEveryRoute) {
  routes.get("/parts/{id}", Access::open, describe<void, std::vector<std::string>>("A \"part\""),
             [](const Request&) { return Response(); });
  routes.get("/parts", Access::customer, describe<void, Listing<std::string>>("Parts", 200, {"colour"}),
             [](const Request&) { return Response(); });
  const auto document = json::parse(get("/openapi.json").body);
  const auto& paths = document.at("paths");
  EXPECT_EQ(document.at("info").at("version").as_string(), "1.2.3");
  const auto& part = paths.at("/parts/{id}").at("get");
  EXPECT_EQ(part.at("parameters").at(1).at("name").as_string(), "id");
  EXPECT_EQ(part.at("parameters").at(1).at("in").as_string(), "path");
  EXPECT_TRUE(part.at("security").as_array().empty());
  EXPECT_EQ(part.at("responses").at("default").at("$ref").as_string(), "#/components/responses/Problem");
  const auto& parts = paths.at("/parts").at("get");
  EXPECT_EQ(parts.at("operationId").as_string(), "get_parts");
  EXPECT_EQ(parts.at("parameters").at(1).at("name").as_string(), "colour");
  EXPECT_EQ(parts.at("parameters").as_array().size(), 4u);
  EXPECT_FALSE(parts.as_object().contains("security"));
  EXPECT_TRUE(paths.as_object().contains("/openapi.json"));
}

}  // namespace
}  // namespace skald::http
