#include "http/engine_paths.h"

#include <gmock/gmock.h>

#include "http/fake_env.h"
#include "http/idempotency.h"
#include "http/jwt.h"
#include "store/tables/dead_letter.h"
#include "store/tables/outbox.h"

namespace skald::http {
namespace {

using testing::HasSubstr;

constexpr std::string_view kSecret = "the secret of these tests";

class EnginePathsTest : public testing::Test {
 protected:
  EnginePathsTest() {
    migrate_api_keys(*db_);
    add_engine_paths(routes_, {fake_.env, {{"gift", engine_}}, metrics_});
  }

  Response ask(const std::string& method, const std::string& target, const std::string& body = "",
               Role role = Role::admin) {
    Request request;
    request.method = method;
    request.path = target;
    request.body = body;
    const Time now = fake_.clock.now();
    request.headers["authorization"] = "Bearer " + sign_token(kSecret, {"kim", role, now, now + 1h});
    return routes_.dispatch(request);
  }
  boost::json::value get(const std::string& target) {
    const Response response = ask("GET", target);
    EXPECT_EQ(response.status, 200) << target << response.body;
    return json::parse(response.body);
  }

  std::string emit(const std::string& key, const std::string& type = "gift.taken") {
    fake_.clock.micros += 1000;
    std::string id;
    db_->write("emit", [&](Transaction& tx) {
      id = tx.emit({.id = {}, .type = type, .key = key, .subject = "s", .payload = R"({"n":1})", .traceparent = {}});
    });
    return id;
  }
  void bury(const std::string& id, const std::string& payload = R"({"n":1})") {
    db_->write("bury", [&](Transaction& tx) {
      Entry entry = tables::outbox::find(tx, id).value();
      entry.attempts = 4;
      entry.event.payload = payload;
      tables::outbox::bury(tx, entry, "no answer");
      tables::dead_letter::put(tx, tables::dead_letter::from_entry(entry, "RETRIES_EXHAUSTED", "no answer", tx.now()));
    });
  }

  FakeEnv fake_;
  Metrics metrics_;
  std::unique_ptr<Database> db_ = open_sqlite(fake_.env, {.path = ":memory:"});
  Engine engine_{fake_.env, *db_, {.outbox = {}, .fallback_file = {}, .alert = {}, .works = false}};
  Routes routes_{fake_.env, Authenticator(fake_.env, std::string(kSecret)), "1"};
};

TEST_F(EnginePathsTest, MetricsAskTheDatabaseAtMostOnceASecond) {
  emit("a");
  const auto pending = [this] {
    const std::string text = ask("GET", "/metrics").body;
    const std::size_t at = text.find("\nskald_outbox_pending ");
    return at == text.npos ? -1 : std::stoi(text.substr(at + 22));
  };
  EXPECT_EQ(pending(), 1);
  emit("b");
  EXPECT_EQ(pending(), 1) << "asked again too soon";
  fake_.clock.micros += 1'000'000;
  EXPECT_EQ(pending(), 2);
}

TEST_F(EnginePathsTest, MetricsMayWantAToken) {
  Routes routes(fake_.env, Authenticator(fake_.env, std::string(kSecret)), "1");
  Watched watched{fake_.env, {{"gift", engine_}}, metrics_};
  watched.metrics_access = Access::admin;
  add_open_paths(routes, watched);
  Request request;
  request.method = "GET";
  request.path = "/metrics";
  EXPECT_EQ(routes.dispatch(request).status, 401);
  const Time now = fake_.clock.now();
  request.headers["authorization"] = "Bearer " + sign_token(kSecret, {"prometheus", Role::system, now, now + 1h});
  EXPECT_EQ(routes.dispatch(request).status, 200);
}

TEST_F(EnginePathsTest, TheOutboxIsListedNewestFirstPageByPage) {
  const std::string first = emit("a"), second = emit("b"), third = emit("c");
  const auto page = get("/api/outbox?limit=2");
  ASSERT_EQ(page.at("items").as_array().size(), 2u);
  EXPECT_EQ(page.at("items").at(0).at("id").as_string(), third);
  EXPECT_EQ(page.at("items").at(0).at("status").as_string(), "PENDING");
  const auto rest = get("/api/outbox?limit=2&cursor=" + std::string(page.at("nextCursor").as_string()));
  ASSERT_EQ(rest.at("items").as_array().size(), 1u);
  EXPECT_EQ(rest.at("items").at(0).at("id").as_string(), first);
  EXPECT_FALSE(rest.as_object().contains("nextCursor"));
}

TEST_F(EnginePathsTest, TheOutboxIsFiltered) {
  emit("a");
  emit("b", "gift.returned");
  EXPECT_EQ(get("/api/outbox?key=b").at("items").as_array().size(), 1u);
  EXPECT_EQ(get("/api/outbox?type=gift.taken").at("items").as_array().size(), 1u);
  EXPECT_EQ(get("/api/outbox?status=COMPLETED").at("items").as_array().size(), 0u);
  const Response refused = ask("GET", "/api/outbox?status=LOST");
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr("PENDING, PROCESSING"));
}

TEST_F(EnginePathsTest, AnEntryIsShownWithItsPayload) {
  const auto entry = get("/api/outbox/" + emit("a"));
  EXPECT_EQ(entry.at("payload").at("n").as_int64(), 1);
  EXPECT_EQ(entry.at("maxRetries").as_int64(), 3);
  EXPECT_EQ(ask("GET", "/api/outbox/none").status, 404);
}

TEST_F(EnginePathsTest, ADeadLetterIsListedUntilItIsDiscardedForAReason) {
  const std::string id = emit("a");
  bury(id);
  const auto letters = get("/api/dead-letters");
  ASSERT_EQ(letters.at("items").as_array().size(), 1u);
  EXPECT_EQ(letters.at("items").at(0).at("reason").as_string(), "RETRIES_EXHAUSTED");
  EXPECT_EQ(letters.at("items").at(0).at("status").as_string(), "DEAD_LETTER");
  EXPECT_EQ(letters.at("items").at(0).at("retryCount").as_int64(), 3);

  EXPECT_EQ(ask("POST", "/api/dead-letters/" + id + "/discard", R"({"reason":""})").status, 422);
  const Response discarded = ask("POST", "/api/dead-letters/" + id + "/discard", R"({"reason":"a test"})");
  EXPECT_EQ(discarded.status, 200) << discarded.body;
  EXPECT_EQ(get("/api/dead-letters").at("items").as_array().size(), 0u);
  EXPECT_EQ(get("/api/dead-letters?state=ANY").at("items").as_array().size(), 1u);
  EXPECT_EQ(get("/api/dead-letters?state=DISCARDED").at("items").at(0).at("note").as_string(), "a test");
  EXPECT_EQ(get("/api/audit").at("items").at(0).at("actor").as_string(), "kim");
  EXPECT_EQ(ask("POST", "/api/dead-letters/" + id + "/replay").status, 409);
}

TEST_F(EnginePathsTest, WhatOperatorsDidIsFoundByWhoDidWhatToWhat) {
  for (const char* id : {"a", "b"}) {
    const std::string event = emit(id);
    bury(event);
    ask("POST", "/api/dead-letters/" + event + (*id == 'a' ? "/replay" : "/discard"), R"({"reason":"a test"})");
    EXPECT_EQ(get("/api/audit?target=" + event).at("items").as_array().size(), 1u);
  }
  const auto found = [&](const std::string& filter) {
    return get("/api/audit?" + filter).at("items").as_array().size();
  };
  EXPECT_EQ(found("actor=kim"), 2u);
  EXPECT_EQ(found("actor=lee"), 0u);
  EXPECT_EQ(found("action=dead-letter.replay"), 1u);
  EXPECT_EQ(found("action=dead-letter.discard&actor=kim"), 1u);
}

TEST_F(EnginePathsTest, AReplayBringsTheEntryBackUnderItsId) {
  const std::string id = emit("a");
  bury(id);
  EXPECT_EQ(get("/api/outbox/" + id).at("status").as_string(), "DEAD_LETTER");
  const Response replayed = ask("POST", "/api/dead-letters/" + id + "/replay");
  EXPECT_EQ(replayed.status, 200) << replayed.body;
  EXPECT_EQ(get("/api/outbox/" + id).at("status").as_string(), "PENDING");
  EXPECT_EQ(get("/api/dead-letters/" + id).at("state").as_string(), "REPLAYED");
  EXPECT_EQ(ask("POST", "/api/dead-letters/none/replay").status, 404);
}

TEST_F(EnginePathsTest, APayloadThatSomebodyBrokeIsShownAsText) {
  const std::string id = emit("a");
  bury(id, "{broken");
  EXPECT_EQ(get("/api/dead-letters/" + id).at("payload").as_string(), "{broken");
}

TEST_F(EnginePathsTest, AnImportWithoutAFallbackFileFindsNothing) {
  const Response response = ask("POST", "/api/dead-letters/import");
  EXPECT_EQ(response.body, R"({"imported":0,"known":0,"damaged":0})");
}

TEST_F(EnginePathsTest, CustomersSeeNothingOfTheEngine) {
  for (const char* path :
       {"/api/outbox", "/api/dead-letters", "/api/audit", "/api/workers", "/api/overview", "/api/stream"})
    EXPECT_EQ(ask("GET", path, "", Role::customer).status, 403) << path;
  EXPECT_EQ(ask("POST", "/api/dead-letters/import", "", Role::customer).status, 403);
}

TEST_F(EnginePathsTest, MetricsShowTheBacklog) {
  emit("a");
  bury(emit("b"));
  Request open;
  open.method = "GET";
  open.path = "/metrics";
  const std::string text = routes_.dispatch(open).body;
  EXPECT_THAT(text, HasSubstr("\nskald_outbox_pending 1\n"));
  EXPECT_THAT(text, HasSubstr("\nskald_dead_letters_waiting 1\n"));
  EXPECT_THAT(text, HasSubstr("\nskald_database_up 1\n"));
}

TEST_F(EnginePathsTest, TheStreamTellsTheOverview) {
  emit("a");
  EXPECT_THAT(ask("GET", "/api/stream").body, HasSubstr("event: overview\ndata: {\"database\":\"sqlite\""));
}

TEST_F(EnginePathsTest, ATokenMayBeUsedWhereNoneIsNeeded) {
  const Authenticator lenient(fake_.env, std::string(kSecret), Authenticator::Tokenless::admin);
  Request request;
  EXPECT_EQ(lenient.admit(request, Access::admin).role, Role::admin);
  const Time now = fake_.clock.now();
  request.headers["authorization"] = "Bearer " + sign_token(kSecret, {"kim", Role::customer, now, now + 1h});
  EXPECT_THROW(lenient.admit(request, Access::admin), Forbidden);
}

}  // namespace
}  // namespace skald::http
