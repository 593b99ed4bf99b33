#include "http/idempotency.h"

#include <gtest/gtest.h>

#include "http/fake_env.h"
#include "http/keyed_request.h"
#include "http/router.h"

namespace skald::http {
namespace {

struct IdempotencyTest : testing::Test {
  FakeEnv fake;
  std::unique_ptr<Database> db = open_sqlite(fake.env, {.path = ":memory:"});
  InFlight in_flight;
  int runs = 0;

  void SetUp() override {
    migrate_api_keys(*db);
    db->write("schema", [](Transaction& tx) { tx.execute("CREATE TABLE effect (body TEXT)"); });
  }

  Response call(const Request& request) {
    return run_once_per_key(*db, in_flight, request, [this](const Request& r, Transaction& tx) {
      ++runs;
      tx.execute("INSERT INTO effect (body) VALUES ($1)", r.body);
      return Response{201, "{\"run\":" + std::to_string(runs) + "}", "application/json", {{"location", "/things/1"}}};
    });
  }
  std::string refusal(const Request& request) {
    try {
      call(request);
    } catch (const Error& error) {
      return error.code();
    }
    return "";
  }
  std::int64_t count(std::string_view sql) {
    return db->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
  }
  std::int64_t effects() { return count("SELECT count(*) FROM effect"); }
  std::int64_t keys() { return count("SELECT count(*) FROM skald_api_key"); }
};

TEST_F(IdempotencyTest, TheSameKeyAndBodyHaveOneEffectAndOneAnswer) {
  const Response first = call(request_with("k", "{}"));
  const Response second = call(request_with("k", "{}"));
  EXPECT_EQ(effects(), 1);
  EXPECT_EQ(second.status, 201);
  EXPECT_EQ(second.body, first.body);
  EXPECT_EQ(second.content_type, first.content_type);
  EXPECT_EQ(second.headers.at("location"), "/things/1");
  EXPECT_EQ(second.headers.at("idempotency-replayed"), "true");
  EXPECT_FALSE(first.headers.contains("idempotency-replayed"));
}

TEST_F(IdempotencyTest, AKeyIsItsCallersInOneRoleOnly) {
  Request request = request_with("k", "{}");
  for (const Role role : {Role::customer, Role::admin, Role::system}) {
    request.caller = {role, "kim"};
    EXPECT_FALSE(call(request).headers.contains("idempotency-replayed")) << enum_name(role);
    EXPECT_TRUE(call(request).headers.contains("idempotency-replayed")) << enum_name(role);
  }
  EXPECT_EQ(effects(), 3);
}

TEST_F(IdempotencyTest, AnotherBodyWithTheSameKeyIsRefused) {
  call(request_with("k", "{}"));
  EXPECT_EQ(refusal(request_with("k", "{ }")), "KEY_REUSED");
  EXPECT_EQ(effects(), 1);
}

TEST_F(IdempotencyTest, SubjectMethodAndPathEachHaveTheirOwnKeys) {
  Request request = request_with("k", "{}");
  call(request);
  request.caller.subject = "lee";
  call(request);
  request.path = "/others";
  call(request);
  request.method = "PUT";
  call(request);
  EXPECT_EQ(effects(), 4);
}

TEST_F(IdempotencyTest, WithoutAKeyEveryCallHasItsEffect) {
  Request request = request_with("", "{}");
  request.headers.clear();
  call(request);
  call(request);
  EXPECT_EQ(effects(), 2);
  EXPECT_EQ(keys(), 0);
}

TEST_F(IdempotencyTest, AKeyIsOneTo255VisibleCharacters) {
  for (const std::string& bad :
       {std::string(), std::string(256, 'k'), std::string("a b"), std::string("\xc3\xa9"), std::string("a\n")})
    EXPECT_EQ(refusal(request_with(bad, "{}")), "BAD_IDEMPOTENCY_KEY") << bad;
  EXPECT_EQ(refusal(request_with(std::string(255, 'k'), "{}")), "");
}

TEST_F(IdempotencyTest, AKeyUnderWayIsBusy) {
  std::string inner;
  run_once_per_key(*db, in_flight, request_with("k", "{}"), [&](const Request&, Transaction&) {
    inner = refusal(request_with("k", "{}"));
    return Response();
  });
  EXPECT_EQ(inner, "KEY_IN_FLIGHT");
  EXPECT_EQ(call(request_with("k", "{}")).headers.count("idempotency-replayed"), 1u);
}

TEST_F(IdempotencyTest, ARefusalThatWasThrownIsNotRememberedAndFreesTheKey) {
  const auto refusing = [](const Request&, Transaction& tx) -> Response {
    tx.execute("INSERT INTO effect (body) VALUES ('x')");
    throw Refused("NO", "no");
  };
  EXPECT_THROW(run_once_per_key(*db, in_flight, request_with("k", "{}"), refusing), Refused);
  EXPECT_EQ(effects(), 0);
  EXPECT_EQ(keys(), 0);
  EXPECT_EQ(refusal(request_with("k", "{}")), "");
  EXPECT_EQ(effects(), 1);
}

TEST_F(IdempotencyTest, AfterADayTheKeyIsNewAgain) {
  call(request_with("k", "{}"));
  fake.clock.micros += Duration(kApiKeyKept).count() - 1;
  call(request_with("k", "{}"));
  EXPECT_EQ(effects(), 1);
  fake.clock.micros += 1;
  call(request_with("k", "{\"other\":1}"));
  EXPECT_EQ(effects(), 2);
  EXPECT_EQ(keys(), 1);
}

TEST_F(IdempotencyTest, PurgingTakesExpiredKeysInBatchesAndNoOthers) {
  for (int i = 0; i < 600; ++i) call(request_with("old" + std::to_string(i), "{}"));
  fake.clock.micros += Duration(kApiKeyKept).count();
  call(request_with("new", "{}"));
  EXPECT_TRUE(purge_expired(*db));
  EXPECT_EQ(keys(), 101);
  EXPECT_FALSE(purge_expired(*db));
  EXPECT_EQ(keys(), 1);
}

TEST_F(IdempotencyTest, ThroughTheRouterKeysWorkAndBodiesAreCheckedFirst) {
  Routes routes(fake.env, Authenticator(fake.env, std::nullopt), "1");
  routes.post(*db, "/things", Access::customer, {}, [](const Request& request, Transaction& tx) {
    tx.execute("INSERT INTO effect (body) VALUES ($1)", request.body);
    return Response{201, "{}", "application/json", {}};
  });
  const auto send = [&](const std::string& body, const std::string& type, const std::string& path = "/things") {
    Request request = request_with("k", body);
    request.path = path;
    if (!type.empty()) request.headers["content-type"] = type;
    return routes.dispatch(request);
  };
  EXPECT_EQ(send("{}", "application/json; charset=utf-8").status, 201);
  EXPECT_EQ(send("{}", "", "/thing%73").headers.at("idempotency-replayed"), "true");
  EXPECT_EQ(send("{}", "application/cloudevents+json").status, 201);
  EXPECT_EQ(send("[]", "application/json").status, 422);
  EXPECT_EQ(send("{}", "text/plain").status, 415);
  EXPECT_EQ(send("\xff", "application/json").status, 400);
  EXPECT_NE(send("\xff", "").body.find("MALFORMED_UTF8"), std::string::npos);
  EXPECT_EQ(effects(), 1);
  const auto document = json::parse(routes
                                        .dispatch([] {
                                          Request request;
                                          request.method = "GET";
                                          request.path = "/openapi.json";
                                          return request;
                                        }())
                                        .body);
  EXPECT_EQ(document.at("paths").at("/things").at("post").at("parameters").at(1).at("$ref").as_string(),
            "#/components/parameters/IdempotencyKey");
}

}  // namespace
}  // namespace skald::http
