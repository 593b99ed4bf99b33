// The paths about sagas, locks and isolation, on an engine that runs.
#include <gmock/gmock.h>

#include <future>

#include "http/engine_paths.h"
#include "http/fake_env.h"
#include "http/jwt.h"
#include "store/tables/saga.h"

namespace skald::http {
namespace {

using testing::HasSubstr;

struct Trip {
  std::string traveller;
  std::optional<std::string> seat;
};
BOOST_DESCRIBE_STRUCT(Trip, (), (traveller, seat))

void tell(Local& step, const std::string& type) {
  step->emit({.id = {}, .type = type, .key = step.saga_id(), .subject = "", .payload = "{}", .traceparent = {}});
}

// Books, waits for a seat, and says how it ended.
Saga<Trip> trip() {
  return Saga<Trip>("trip")
      .local("book", [](Local&, Trip&) {})
      .undo([](Local& step, Trip&) { tell(step, "trip.undone"); })
      .writes("seat")
      .holds("traveller", &Trip::traveller, exclusive, wait_up_to(1h))
      .await("wait for a seat", "seat", [](Local&, Trip& trip, const RawJson& payload) { trip.seat = payload.text; })
      .timeout(1h)
      .local("end", [](Local& step, Trip&) { tell(step, "trip.done"); })
      .pivot();
}

class SagaPathsTest : public testing::Test {
 protected:
  SagaPathsTest() {
    migrate_api_keys(*db_);
    add_engine_paths(routes_, {env_, {{"trip", engine_}}, metrics_});
    engine_.sagas().add(trip_);
    engine_.consume({.name = "end", .type = "trip.*", .handle = [this](Transaction&, const Message& message) {
                       ended_.set_value(message.event.type);
                     }});
    engine_.start();
  }
  ~SagaPathsTest() override { engine_.stop(); }

  // To where it waits. Ids of one millisecond have no order, so they are given.
  std::string begin(const std::string& traveller) {
    return engine_.sagas().run(trip_, Trip{traveller, {}}, {.key = traveller, .id = "trip-" + traveller}).id;
  }
  // What the saga said once that was committed.
  std::string end() {
    auto future = ended_.get_future();
    return future.wait_for(60s) == std::future_status::ready ? future.get() : "it never ended";
  }
  void park(const std::string& id) {
    db_->write("park", [&](Transaction& tx) {
      auto row = tables::saga::find(tx, id).value();
      row.status = SagaStatus::NEEDS_HELP;
      row.log.clear();
      row.error_code = "BROKEN";
      row.error_message = "somebody must look";
      tables::saga::update(tx, row);
    });
  }

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
  std::vector<std::string> ids(const std::string& target) {
    std::vector<std::string> out;
    const auto page = get(target);
    for (const auto& item : page.at("items").as_array()) out.emplace_back(item.at("id").as_string());
    return out;
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  Metrics metrics_;
  Saga<Trip> trip_ = trip();
  std::promise<std::string> ended_;
  std::unique_ptr<Database> db_ = open_sqlite(env_, {.path = ":memory:"});
  Engine engine_{env_, *db_, {.record_history = true}};
  Routes routes_{env_, Authenticator(env_, std::nullopt), "1"};
};

TEST_F(SagaPathsTest, SagasAreListedNewestFirstPageByPageAndFiltered) {
  const std::string first = begin("ann"), second = begin("bob"), third = begin("cy");
  const auto page = get("/api/sagas?limit=2");
  ASSERT_EQ(page.at("items").as_array().size(), 2u);
  EXPECT_EQ(page.at("items").at(0).at("id").as_string(), third);
  EXPECT_EQ(ids("/api/sagas?limit=2&cursor=" + std::string(page.at("nextCursor").as_string())),
            std::vector<std::string>{first});
  EXPECT_EQ(ids("/api/sagas?key=bob"), std::vector<std::string>{second});
  EXPECT_EQ(ids("/api/sagas?type=trip&status=WAITING").size(), 3u);
  EXPECT_EQ(ids("/api/sagas?status=COMPLETED").size(), 0u);
  EXPECT_EQ(ids("/api/sagas?type=other").size(), 0u);
  EXPECT_EQ(ask("GET", "/api/sagas?status=LOST").status, 422);
}

TEST_F(SagaPathsTest, ASagaIsShownWithItsStateAndSteps) {
  const std::string id = begin("ann");
  const auto saga = get("/api/sagas/" + id);
  EXPECT_EQ(saga.at("type").as_string(), "trip");
  EXPECT_EQ(saga.at("key").as_string(), "ann");
  EXPECT_EQ(saga.at("status").as_string(), "WAITING");
  EXPECT_EQ(saga.at("step").as_string(), "wait for a seat");
  EXPECT_EQ(saga.at("state").at("traveller").as_string(), "ann");
  EXPECT_TRUE(saga.at("startedAt").is_string());
  EXPECT_FALSE(saga.as_object().contains("finishedAt"));
  EXPECT_FALSE(saga.as_object().contains("error"));
  const auto& step = saga.at("steps").at(0);
  EXPECT_EQ(step.at("name").as_string(), "book");
  EXPECT_EQ(step.at("kind").as_string(), "local");
  EXPECT_EQ(step.at("status").as_string(), "DONE");
  EXPECT_EQ(step.at("attempt").as_int64(), 1);
  const Response none = ask("GET", "/api/sagas/none");
  EXPECT_EQ(none.status, 404);
  EXPECT_THAT(none.body, HasSubstr("SAGA_NOT_FOUND"));
}

TEST_F(SagaPathsTest, ASignalLetsTheSagaGoOnToItsEnd) {
  const std::string id = begin("ann");
  const Response sent = ask("POST", "/api/sagas/" + id + "/signal", R"({"name":"seat","payload":{"row":7},"id":"s1"})");
  EXPECT_EQ(sent.status, 200) << sent.body;
  EXPECT_EQ(end(), "trip.done");
  const auto saga = get("/api/sagas/" + id);
  EXPECT_EQ(saga.at("status").as_string(), "COMPLETED");
  EXPECT_EQ(saga.at("state").at("seat").as_string(), R"({"row":7})");
  const auto audit = get("/api/audit").at("items").at(0);
  EXPECT_EQ(audit.at("action").as_string(), "saga.signal");
  EXPECT_EQ(audit.at("target").as_string(), id);
  EXPECT_TRUE(saga.at("finishedAt").is_string());
  EXPECT_EQ(ask("POST", "/api/sagas/" + id + "/signal", R"({"name":"seat"})").status, 409);
}

TEST_F(SagaPathsTest, ASignalIsSentOncePerIdAndPerIdempotencyKey) {
  const std::string path = "/api/sagas/" + begin("ann") + "/signal";
  const auto waiting = [&] {
    return db_->read_result(
        [](Transaction& tx) { return tx.query("SELECT COUNT(*) FROM skald_signal").get<std::int64_t>(0, 0); });
  };
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("POST", path, R"({"name":"food","id":"s1"})").status, 200);
  EXPECT_EQ(waiting(), 1);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("POST", path, R"({"name":"food"})", "key-1").status, 200);
  EXPECT_EQ(waiting(), 2);
  for (int i = 0; i < 2; ++i) EXPECT_EQ(ask("POST", path, R"({"name":"food"})").status, 200);
  EXPECT_EQ(waiting(), 4);
  EXPECT_EQ(ask("POST", path, R"({"name":"drink"})", "key-1").status, 422);
  EXPECT_EQ(ask("POST", path, R"({"name":""})").status, 422);
  EXPECT_EQ(ask("POST", path, R"({"payload":1})").status, 422);
  EXPECT_EQ(ask("POST", "/api/sagas/none/signal", R"({"name":"food"})").status, 404);
}

TEST_F(SagaPathsTest, ASagaIsUndoneForAReasonWhichIsAudited) {
  const std::string id = begin("ann");
  EXPECT_EQ(ask("POST", "/api/sagas/" + id + "/compensate", R"({"reason":""})").status, 422);
  const Response undone = ask("POST", "/api/sagas/" + id + "/compensate", R"({"reason":"she fell ill"})");
  EXPECT_EQ(undone.status, 200) << undone.body;
  EXPECT_EQ(json::parse(undone.body).at("status").as_string(), "COMPENSATING");
  EXPECT_EQ(end(), "trip.undone");
  const auto saga = get("/api/sagas/" + id);
  EXPECT_EQ(saga.at("status").as_string(), "COMPENSATED");
  EXPECT_EQ(saga.at("error").at("message").as_string(), "she fell ill");
  const auto audit = get("/api/audit").at("items").at(0);
  EXPECT_EQ(audit.at("action").as_string(), "saga.compensate");
  EXPECT_EQ(audit.at("detail").as_string(), "she fell ill");
  EXPECT_EQ(ask("POST", "/api/sagas/" + id + "/compensate", R"({"reason":"again"})").status, 409);
}

TEST_F(SagaPathsTest, OnlyASagaThatNeedsHelpIsRetried) {
  const std::string id = begin("ann");
  const Response early = ask("POST", "/api/sagas/" + id + "/retry");
  EXPECT_EQ(early.status, 409);
  EXPECT_THAT(early.body, HasSubstr("SAGA_NOT_PARKED"));
  park(id);
  const auto parked = get("/api/sagas?status=NEEDS_HELP").at("items").at(0);
  EXPECT_EQ(parked.at("error").at("code").as_string(), "BROKEN");
  const Response retried = ask("POST", "/api/sagas/" + id + "/retry");
  EXPECT_EQ(retried.status, 200) << retried.body;
  EXPECT_EQ(json::parse(retried.body).at("status").as_string(), "RUNNING");
  EXPECT_EQ(get("/api/audit").at("items").at(0).at("action").as_string(), "saga.retry");
  ask("POST", "/api/sagas/" + id + "/signal", R"({"name":"seat"})");
  EXPECT_EQ(end(), "trip.done");
}

TEST_F(SagaPathsTest, LocksTellWhoHoldsThemAndWhoWaits) {
  const std::string holder = begin("ann"), other = begin("bob");
  const std::string waiter =
      engine_.sagas().run(trip_, Trip{"ann", {}}, {.key = "", .on_duplicate = OnDuplicate::allow}).id;
  const auto page = get("/api/locks?limit=1");
  ASSERT_EQ(page.at("items").as_array().size(), 1u);
  const auto lock = page.at("items").at(0);
  EXPECT_EQ(lock.at("resource").as_string(), "traveller");
  EXPECT_EQ(lock.at("key").as_string(), "ann");
  EXPECT_EQ(lock.at("sagaId").as_string(), holder);
  EXPECT_EQ(lock.at("sagaType").as_string(), "trip");
  EXPECT_EQ(lock.at("step").as_string(), "book");
  EXPECT_TRUE(lock.at("since").is_string());
  ASSERT_EQ(lock.at("waiting").as_array().size(), 1u);
  EXPECT_EQ(lock.at("waiting").at(0).at("sagaId").as_string(), waiter);
  const auto rest = get("/api/locks?limit=1&cursor=" + std::string(page.at("nextCursor").as_string()));
  EXPECT_EQ(rest.at("items").at(0).at("sagaId").as_string(), other);
  EXPECT_FALSE(rest.as_object().contains("nextCursor"));
  EXPECT_EQ(get("/api/locks?key=bob").at("items").as_array().size(), 1u);
  EXPECT_EQ(get("/api/locks?resource=seat").at("items").as_array().size(), 0u);
  EXPECT_EQ(get("/api/locks?sagaId=" + holder).at("items").as_array().size(), 1u);
}

TEST_F(SagaPathsTest, TheIsolationReportNamesWhatNothingCovers) {
  const auto report = get("/api/isolation");
  EXPECT_EQ(report.at("sagas").at(0).as_string(), "trip");
  EXPECT_EQ(report.at("uncovered").as_int64(), 1);
  const auto& finding = report.at("findings").at(0);
  EXPECT_EQ(finding.at("anomaly").as_string(), "dirty_undo");
  EXPECT_EQ(finding.at("resource").as_string(), "seat");
  EXPECT_EQ(finding.at("first").at("step").as_string(), "book");
  EXPECT_TRUE(finding.at("advice").is_string());
}

TEST_F(SagaPathsTest, TheHistoryIsPagedByWholeCommits) {
  begin("ann");
  begin("bob");
  const auto kinds = [](const boost::json::value& page) {
    std::vector<std::string> out;
    for (const auto& item : page.at("items").as_array()) out.emplace_back(item.at("kind").as_string());
    return out;
  };
  const std::vector<std::string> commit = {"begin", "lock", "action"};
  const auto first = get("/api/history?limit=1");
  EXPECT_EQ(kinds(first), commit);
  EXPECT_EQ(first.at("items").at(0).at("sagaId").as_string(), "trip-ann");
  const auto second = get("/api/history?limit=1&cursor=" + std::string(first.at("nextCursor").as_string()));
  EXPECT_EQ(kinds(second), commit);
  EXPECT_EQ(second.at("items").at(0).at("sagaId").as_string(), "trip-bob");
  EXPECT_FALSE(second.as_object().contains("nextCursor"));
  EXPECT_EQ(kinds(get("/api/history")).size(), 6u);
}

TEST_F(SagaPathsTest, ThePathsAreDescribedWithTheirBodies) {
  const auto paths = get("/openapi.json").at("paths");
  const auto& signal = paths.at("/api/sagas/{id}/signal").at("post");
  EXPECT_EQ(signal.at("requestBody").at("content").at("application/json").at("schema").at("$ref"),
            "#/components/schemas/Signal");
  EXPECT_TRUE(get("/openapi.json").at("components").at("schemas").at("Signal").at("properties").is_object());
  for (const char* path : {"/api/sagas", "/api/sagas/{id}", "/api/locks", "/api/isolation", "/api/history"})
    EXPECT_TRUE(paths.at(path).at("get").is_object()) << path;
}

TEST(SagaPathsOfCustomers, AreClosed) {
  FakeEnv fake;
  Metrics metrics;
  const auto db = open_sqlite(fake.env, {.path = ":memory:"});
  Engine engine(fake.env, *db, {.outbox = {}, .fallback_file = {}, .alert = {}, .works = false});
  Routes routes(fake.env, Authenticator(fake.env, std::string("a secret")), "1");
  add_engine_paths(routes, {fake.env, {{"trip", engine}}, metrics});
  const auto status = [&](const std::string& method, const std::string& path) {
    Request request;
    request.method = method;
    request.path = path;
    const Time now = fake.clock.now();
    request.headers["authorization"] = "Bearer " + sign_token("a secret", {"kim", Role::customer, now, now + 1h});
    return routes.dispatch(request).status;
  };
  for (const char* path : {"/api/sagas", "/api/sagas/1", "/api/locks", "/api/isolation", "/api/history"})
    EXPECT_EQ(status("GET", path), 403) << path;
  for (const char* path : {"/api/sagas/1/retry", "/api/sagas/1/compensate", "/api/sagas/1/signal"})
    EXPECT_EQ(status("POST", path), 403) << path;
}

}  // namespace
}  // namespace skald::http
