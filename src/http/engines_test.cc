// The engine's paths over two engines, each on a database of its own.
#include "http/engines.h"

#include <gmock/gmock.h>

#include "http/engine_paths.h"
#include "http/fake_env.h"
#include "http/frail_database.h"
#include "store/tables/dead_letter.h"
#include "store/tables/outbox.h"

namespace skald::http {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using Strings = std::vector<std::string>;

struct Visit {
  std::string guest;
};
BOOST_DESCRIBE_STRUCT(Visit, (), (guest))

// Waits for a signal under a lock on its guest.
Saga<Visit> visit(const std::string& type) {
  return Saga<Visit>(type)
      .local("come", [](Local&, Visit&) {})
      .undo([](Local&, Visit&) {})
      .writes("room")
      .holds("guest", &Visit::guest, exclusive, wait_up_to(1h))
      .await("stay", "leave", [](Local&, Visit&, const RawJson&) {})
      .timeout(1h)
      .local("go", [](Local&, Visit&) {})
      .pivot();
}

// An engine that delivers nothing: what is put into it stays.
struct Service {
  Service(Dialect dialect, Env env, const std::string& service)
      : name(service), db(std::make_unique<FrailDatabase>(dialect, env)) {
    engine = std::make_unique<Engine>(env, *db, EngineOptions{.record_history = true, .works = false});
    engine->sagas().add(saga);
    migrate_api_keys(*db);
  }
  void emit(const std::string& id) {
    db->write("emit", [&](Transaction& tx) {
      tx.emit({.id = id, .type = "visit.noted", .key = id, .subject = "", .payload = "{}", .traceparent = {}});
    });
  }
  void bury(const std::string& id) {
    emit(id);
    db->write("bury", [&](Transaction& tx) {
      const Entry entry = tables::outbox::find(tx, id).value();
      tables::outbox::bury(tx, entry, "no answer");
      tables::dead_letter::put(tx, tables::dead_letter::from_entry(entry, "REFUSED", "no answer", tx.now()));
    });
  }
  void begin(const std::string& guest) {
    engine->sagas().run(saga, Visit{guest}, {.key = guest, .id = name + "-" + guest});
  }
  std::int64_t count(const std::string& table) {
    return db->read_result(
        [&](Transaction& tx) { return tx.query("SELECT COUNT(*) FROM " + table).get<std::int64_t>(0, 0); });
  }

  std::string name;
  Saga<Visit> saga = visit(name + ".visit");
  std::unique_ptr<FrailDatabase> db;
  std::unique_ptr<Engine> engine;
};

class EnginesTest : public testing::TestWithParam<Dialect> {
 protected:
  EnginesTest() { add_engine_paths(routes_, {fake_.env, {{"inn", *inn_.engine}, {"bar", *bar_.engine}}, metrics_}); }

  Response ask(const std::string& method, const std::string& target, const std::string& body = "",
               const std::string& key = "") {
    Request request;
    request.method = method;
    request.path = target;
    request.body = body;
    if (!key.empty()) request.headers["idempotency-key"] = key;
    return routes_.dispatch(request);
  }
  boost::json::value get(const std::string& target) {
    const Response response = ask("GET", target);
    EXPECT_EQ(response.status, 200) << target << response.body;
    return json::parse(response.body);
  }
  static std::string database_name() { return GetParam() == Dialect::sqlite ? "sqlite" : "postgresql"; }
  // The list page by page, each as "service:value service:value".
  Strings pages(const std::string& target, const std::string& member) {
    Strings out;
    const std::string separator = target.find('?') == target.npos ? "?" : "&";
    for (std::string cursor;;) {
      const auto page = get(target + cursor);
      std::string shown;
      for (const auto& item : page.at("items").as_array())
        shown += (shown.empty() ? "" : " ") + std::string(item.at("service").as_string()) + ":" +
                 std::string(item.at(member).as_string());
      out.push_back(shown);
      if (!page.as_object().contains("nextCursor") || out.size() > 20) return out;
      cursor = separator + "cursor=" + std::string(page.at("nextCursor").as_string());
    }
  }

  FakeEnv fake_;
  Metrics metrics_;
  Service inn_{GetParam(), fake_.env, "inn"}, bar_{GetParam(), fake_.env, "bar"};
  Routes routes_{fake_.env, Authenticator(fake_.env, std::nullopt), "1"};
};

INSTANTIATE_TEST_SUITE_P(Both, EnginesTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& about) { return about.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(EnginesTest, PagesGoOnInTheNextEngineAndAreFull) {
  for (const char* id : {"a1", "a2"}) inn_.emit(id);
  for (const char* id : {"b1", "b2", "b3"}) bar_.emit(id);
  EXPECT_THAT(pages("/api/outbox?limit=1", "id"), ElementsAre("inn:a2", "inn:a1", "bar:b3", "bar:b2", "bar:b1"));
  EXPECT_THAT(pages("/api/outbox?limit=2", "id"), ElementsAre("inn:a2 inn:a1", "bar:b3 bar:b2", "bar:b1"));
  EXPECT_THAT(pages("/api/outbox?limit=3", "id"), ElementsAre("inn:a2 inn:a1 bar:b3", "bar:b2 bar:b1"));
  EXPECT_THAT(pages("/api/outbox?limit=5", "id"), ElementsAre("inn:a2 inn:a1 bar:b3 bar:b2 bar:b1"));
}

TEST_P(EnginesTest, AnEmptyEngineIsPassedOver) {
  EXPECT_THAT(pages("/api/outbox", "id"), ElementsAre(""));
  bar_.emit("b1");
  EXPECT_THAT(pages("/api/outbox?limit=1", "id"), ElementsAre("bar:b1"));
}

TEST_P(EnginesTest, EveryListHasAllEnginesAndIsLimitedToOne) {
  for (Service* service : {&inn_, &bar_}) {
    service->bury(service->name + "1");
    service->begin("ann");
    service->begin("bob");
    ask("POST", "/api/dead-letters/" + service->name + "1/discard", R"({"reason":"a test"})");
  }
  EXPECT_THAT(pages("/api/dead-letters?state=ANY&limit=1", "id"), ElementsAre("inn:inn1", "bar:bar1"));
  EXPECT_THAT(pages("/api/audit?limit=1", "target"), ElementsAre("inn:inn1", "bar:bar1"));
  EXPECT_THAT(pages("/api/sagas?limit=3", "id"), ElementsAre("inn:inn-bob inn:inn-ann bar:bar-bob", "bar:bar-ann"));
  EXPECT_THAT(pages("/api/locks?limit=3", "key"), ElementsAre("inn:ann inn:bob bar:ann", "bar:bob"));
  EXPECT_THAT(pages("/api/history?limit=3", "kind"),
              ElementsAre("inn:begin inn:lock inn:action inn:begin inn:lock inn:action bar:begin bar:lock bar:action",
                          "bar:begin bar:lock bar:action"));
  for (const char* path : {"outbox", "dead-letters", "audit", "sagas", "locks", "history", "workers"}) {
    const std::string any = std::string(path) == "dead-letters" ? "&state=ANY" : "";
    const Strings limited = pages("/api/" + std::string(path) + "?limit=1&service=bar" + any, "service");
    for (const std::string& page : limited) EXPECT_THAT(page, Not(HasSubstr("inn:"))) << path;
    const Response unknown = ask("GET", "/api/" + std::string(path) + "?service=pub");
    EXPECT_EQ(unknown.status, 422) << path;
    EXPECT_THAT(unknown.body, HasSubstr("BAD_FILTER")) << path;
    EXPECT_THAT(unknown.body, HasSubstr("inn, bar")) << path;
  }
  EXPECT_THAT(pages("/api/sagas?limit=1&service=bar", "id"), ElementsAre("bar:bar-bob", "bar:bar-ann"));
}

TEST_P(EnginesTest, ACursorOfAnEngineThatIsNotListedIsRefused) {
  for (const char* id : {"a1", "a2"}) inn_.emit(id);
  const std::string cursor(get("/api/outbox?limit=1").at("nextCursor").as_string());
  for (const std::string& more : {"&service=bar&cursor=" + cursor, "&cursor=" + Page::cursor_at({"pub", "a1"}),
                                  "&cursor=" + Page::cursor_at({"a1"})}) {
    const Response refused = ask("GET", "/api/outbox?limit=1" + more);
    EXPECT_EQ(refused.status, 422) << more;
    EXPECT_THAT(refused.body, HasSubstr("BAD_CURSOR")) << more;
  }
}

TEST_P(EnginesTest, WhatAnIdNamesIsFoundInTheEngineThatKnowsIt) {
  bar_.bury("b1");
  bar_.begin("ann");
  for (const char* path : {"/api/outbox/b1", "/api/dead-letters/b1", "/api/sagas/bar-ann"}) {
    EXPECT_EQ(get(path).at("service").as_string(), "bar") << path;
    EXPECT_EQ(ask("GET", path + std::string("?service=inn")).status, 404) << path;
  }
  for (const char* path : {"/api/outbox/none", "/api/dead-letters/none", "/api/sagas/none"})
    EXPECT_EQ(ask("GET", path).status, 404) << path;
  EXPECT_EQ(ask("GET", "/api/sagas/bar-ann?service=pub").status, 422);
}

TEST_P(EnginesTest, ADecisionAndItsKeyAreInTheDatabaseOfWhatItIsAbout) {
  bar_.bury("b1");
  const Response replayed = ask("POST", "/api/dead-letters/b1/replay", "", "key-1");
  EXPECT_EQ(replayed.status, 200) << replayed.body;
  EXPECT_EQ(json::parse(replayed.body).at("service").as_string(), "bar");
  EXPECT_EQ(get("/api/outbox/b1").at("status").as_string(), "PENDING");
  const Response again = ask("POST", "/api/dead-letters/b1/replay", "", "key-1");
  EXPECT_EQ(again.body, replayed.body);
  EXPECT_EQ(again.headers.at("idempotency-replayed"), "true");
  EXPECT_EQ(bar_.count("skald_audit"), 1);
  EXPECT_EQ(bar_.count("skald_api_key"), 1);
  EXPECT_EQ(inn_.count("skald_audit"), 0);
  EXPECT_EQ(inn_.count("skald_api_key"), 0);
  EXPECT_EQ(ask("POST", "/api/dead-letters/none/replay").status, 404);
}

TEST_P(EnginesTest, AnIdOfSeveralServicesIsDecidedOnlyWhereItIsSaidWhich) {
  bar_.bury("x");
  const Response first = ask("POST", "/api/dead-letters/x/discard", R"({"reason":"a test"})", "key-1");
  EXPECT_EQ(first.status, 200) << first.body;
  inn_.bury("x");  // the event has reached this one, too
  const Response again = ask("POST", "/api/dead-letters/x/discard", R"({"reason":"a test"})", "key-1");
  EXPECT_EQ(again.body, first.body) << "a key that is remembered decides";
  EXPECT_EQ(inn_.count("skald_audit"), 0);
  const Response unclear = ask("POST", "/api/dead-letters/x/discard", R"({"reason":"a test"})", "key-2");
  EXPECT_EQ(unclear.status, 409);
  EXPECT_THAT(unclear.body, HasSubstr("SEVERAL_SERVICES"));
  EXPECT_THAT(unclear.body, HasSubstr("inn, bar"));
  EXPECT_EQ(ask("POST", "/api/dead-letters/x/discard?service=inn", R"({"reason":"a test"})", "key-2").status, 200);
  EXPECT_EQ(inn_.count("skald_audit"), 1);
}

TEST_P(EnginesTest, AnImportIsOfAllEnginesOrOfOne) {
  for (const char* which : {"", "?service=bar"})
    EXPECT_EQ(ask("POST", "/api/dead-letters/import" + std::string(which)).body,
              R"({"imported":0,"known":0,"damaged":0})");
  EXPECT_EQ(ask("POST", "/api/dead-letters/import?service=pub").status, 422);
}

TEST_P(EnginesTest, ASagaIsDecidedInItsEngine) {
  inn_.begin("ann");
  bar_.begin("ann");
  for (int i = 0; i < 2; ++i) {
    const Response sent = ask("POST", "/api/sagas/bar-ann/signal", R"({"name":"drink"})", "key-1");
    EXPECT_EQ(sent.status, 200) << sent.body;
    EXPECT_EQ(json::parse(sent.body).at("service").as_string(), "bar");
  }
  EXPECT_EQ(bar_.count("skald_signal"), 1);
  EXPECT_EQ(inn_.count("skald_signal"), 0);
  EXPECT_EQ(ask("POST", "/api/sagas/bar-ann/retry").status, 409);
  EXPECT_EQ(ask("POST", "/api/sagas/none/retry").status, 404);
  EXPECT_EQ(ask("POST", "/api/sagas/bar-ann/compensate", R"({"reason":"late"})").status, 200);
  EXPECT_EQ(get("/api/sagas/bar-ann").at("status").as_string(), "COMPENSATING");
  EXPECT_EQ(get("/api/sagas/inn-ann").at("status").as_string(), "WAITING");
}

TEST_P(EnginesTest, TheOverviewSumsAndTellsOfEach) {
  inn_.emit("a1");
  fake_.clock.micros += 1'000'000;
  for (const char* id : {"b1", "b2"}) bar_.emit(id);
  bar_.bury("b3");
  const auto overview = get("/api/overview");
  EXPECT_EQ(overview.at("database").as_string(), database_name());
  EXPECT_EQ(overview.at("pending").as_int64(), 3);
  EXPECT_EQ(overview.at("deadLetters").as_int64(), 1);
  const auto& services = overview.at("services");
  ASSERT_EQ(services.as_array().size(), 2u);
  EXPECT_EQ(overview.at("oldestPending"), services.at(0).at("oldestPending"));
  EXPECT_EQ(overview.at("schema"), services.at(0).at("schema")) << "both are of one program";
  EXPECT_EQ(services.at(0).at("service").as_string(), "inn");
  EXPECT_EQ(services.at(0).at("pending").as_int64(), 1);
  EXPECT_EQ(services.at(1).at("service").as_string(), "bar");
  EXPECT_EQ(services.at(1).at("pending").as_int64(), 2);
  EXPECT_EQ(services.at(1).at("deadLetters").as_int64(), 1);
  EXPECT_THAT(ask("GET", "/api/stream").body, HasSubstr("\"services\":[{\"database\":\"" + database_name()));
  const std::string metrics = ask("GET", "/metrics").body;
  EXPECT_THAT(metrics, HasSubstr("\nskald_outbox_pending 3\n"));
  const std::string age = "\nskald_outbox_oldest_pending_age ";
  EXPECT_THAT(metrics, HasSubstr(GetParam() == Dialect::sqlite ? age + "1\n" : age));  // PostgreSQL has its own time
}

TEST_P(EnginesTest, EachEnginesSagasAreAnalysedAmongThemselves) {
  const auto report = get("/api/isolation");
  EXPECT_EQ(report.at("sagas"), boost::json::value({"inn.visit", "bar.visit"}));
  EXPECT_EQ(report.at("uncovered").as_int64(), 2);
  for (const auto& finding : report.at("findings").as_array())
    EXPECT_EQ(finding.at("first").at("saga"), finding.at("second").at("saga")) << "they share no database";
}

TEST_P(EnginesTest, TheProcessIsReadyWhenAllOfThemAre) {
  EXPECT_EQ(ask("GET", "/readyz").status, 200);
  const auto db = open_sqlite(fake_.env, {.path = ":memory:"});
  Engine idle(fake_.env, *db, {});  // never started, so without a lease
  Routes routes(fake_.env, Authenticator(fake_.env, std::nullopt), "1");
  add_engine_paths(routes, {fake_.env, {{"inn", *inn_.engine}, {"pub", idle}, {"bar", *bar_.engine}}, metrics_});
  Request request;
  request.method = "GET";
  request.path = "/readyz";
  const Response refused = routes.dispatch(request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_THAT(refused.body, HasSubstr("\"pub: the database"));
}

TEST_P(EnginesTest, WhileOneDatabaseIsAwayTheOthersAnswerForThemselves) {
  bar_.bury("b1");
  inn_.db->away = true;
  EXPECT_EQ(ask("GET", "/api/outbox").status, 503) << "it would not be all of it";
  EXPECT_THAT(pages("/api/outbox?service=bar", "id"), ElementsAre("bar:b1"));
  EXPECT_EQ(get("/api/dead-letters/b1").at("service").as_string(), "bar");
  EXPECT_EQ(ask("GET", "/api/dead-letters/none").status, 503) << "it may be in the one that is away";
  EXPECT_EQ(ask("POST", "/api/dead-letters/b1/replay").status, 503) << "it may be in both";
  EXPECT_EQ(get("/api/dead-letters/b1").at("state").as_string(), "DEAD");
  EXPECT_EQ(ask("POST", "/api/dead-letters/b1/replay?service=bar").status, 200);
  EXPECT_EQ(ask("GET", "/api/overview").status, 503);
  EXPECT_THAT(fake_.observer.lines.back().second, HasSubstr("inn: it was taken away"));
  EXPECT_THAT(ask("GET", "/readyz").body, HasSubstr("\"inn: the database"));
  EXPECT_THAT(ask("GET", "/metrics").body, HasSubstr("\nskald_database_up 0\n"));
}

TEST_P(EnginesTest, AProcessWithoutAnEngineHasEmptyListsAndKnowsNothing) {
  Routes routes(fake_.env, Authenticator(fake_.env, std::nullopt), "1");
  add_engine_paths(routes, {fake_.env, {}, metrics_});
  const auto asked = [&](const std::string& method, const std::string& path) {
    Request request;
    request.method = method;
    request.path = path;
    return routes.dispatch(request);
  };
  EXPECT_EQ(asked("GET", "/api/sagas").body, R"({"items":[]})");
  EXPECT_EQ(asked("GET", "/api/sagas/1").status, 404);
  EXPECT_EQ(asked("POST", "/api/sagas/1/retry").status, 404);
  for (const char* path : {"/readyz", "/api/overview", "/api/isolation", "/metrics"})
    EXPECT_EQ(asked("GET", path).status, 200) << path;
}

}  // namespace
}  // namespace skald::http
