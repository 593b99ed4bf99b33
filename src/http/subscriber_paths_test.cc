// The paths about subscribers over two engines that send to each other by a post within the process.
#include <gmock/gmock.h>

#include <future>

#include "http/engine_paths.h"
#include "http/fake_env.h"
#include "runtime/local_post.h"
#include "runtime/wakeup.h"
#include "store/tables/subscriber.h"
#include "support/test_database.h"

namespace skald::http {
namespace {

using testing::HasSubstr;
using testing::Not;

class SubscriberPathsTest : public testing::TestWithParam<Dialect> {
 protected:
  // "inn" sends to "bar", which handles what comes, and to "old", which nobody is.
  struct Service {
    Service(Dialect dialect, Env env) : db(test::TestDatabase::of(dialect, env)), engine(env, **db, {}) {
      migrate_api_keys(**db);
    }
    std::unique_ptr<test::TestDatabase> db;
    std::unique_ptr<Courier> courier;
    std::unique_ptr<Inlet> letterbox;
    Engine engine;
  };

  SubscriberPathsTest() {
    for (auto& [name, service] : {std::pair{"inn", &inn_}, std::pair{"bar", &bar_}}) {
      Engine& engine = service->engine;
      service->courier = post_.courier();
      service->letterbox = post_.letterbox(
          name, {.accept = [&engine](std::span<const Letter> letters) { return engine.accept(letters); },
                 .answer = [&engine](const Inquiry& inquiry) { return engine.answer(inquiry); }});
      engine.post(*service->courier);
      engine.receive(*service->letterbox);
    }
    bar_.engine.consume(
        {.name = "bar", .type = "visit.*", .handle = [this](Transaction&, const Message&) { handled_.set_value(); }});
    inn_.engine.subscriber({.name = "bar", .types = {"visit.*"}});
    add_engine_paths(routes_, {env_, {{"inn", inn_.engine}, {"bar", bar_.engine}}, metrics_});
  }
  ~SubscriberPathsTest() override {
    inn_.engine.stop();
    bar_.engine.stop();
  }

  // As a program before this one has written it down.
  void subscribe_old(Service& service) {
    (*service.db)->write("subscribe", [](Transaction& tx) {
      tables::subscriber::put(tx, {.name = "old", .types = {"visit.noted", "room.*"}});
    });
  }
  void emit(const std::string& id) {
    (*inn_.db)->write("emit", [&](Transaction& tx) {
      tx.emit({.id = id, .type = "visit.noted", .key = "k", .subject = "", .payload = "{}", .traceparent = {}});
    });
  }
  // Both work, until the letter with this one has been confirmed and settled, and everybody else was sent one.
  void deliver(const std::string& id) {
    inn_.engine.start();
    bar_.engine.start();
    emit(id);
    EXPECT_EQ(handled_.get_future().wait_for(60s), std::future_status::ready);
    const auto is_tried = [](const SubscriberView& one) { return one.name == "bar" || one.trouble; };
    while (!std::ranges::all_of(inn_.engine.subscribers(), is_tried)) runtime::Wakeup().wait(1ms);
    inn_.engine.stop();
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

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  RecordingObserver observer_;
  Env env_{*clock_, *random_, observer_};
  Metrics metrics_;
  std::promise<void> handled_;
  runtime::LocalPost post_;
  Service inn_{GetParam(), env_}, bar_{GetParam(), env_};
  Routes routes_{env_, Authenticator(env_, std::nullopt), "1"};
};
INSTANTIATE_TEST_SUITE_P(Databases, SubscriberPathsTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(SubscriberPathsTest, EachServicesSubscribersAreListedWithWhatTheyAreOwed) {
  subscribe_old(inn_);
  subscribe_old(bar_);
  deliver("e1");
  const auto page = get("/api/subscribers?limit=2");
  ASSERT_EQ(page.at("items").as_array().size(), 2u);
  const auto& reached = page.at("items").at(0);
  EXPECT_EQ(reached.at("service").as_string(), "inn");
  EXPECT_EQ(reached.at("name").as_string(), "bar");
  EXPECT_EQ(reached.at("owed").as_int64(), 0);
  EXPECT_TRUE(reached.at("configured").as_bool());
  EXPECT_TRUE(reached.as_object().contains("lastConfirmedAt"));
  EXPECT_FALSE(reached.as_object().contains("oldest"));
  EXPECT_FALSE(reached.as_object().contains("trouble"));
  const auto& away = page.at("items").at(1);
  EXPECT_EQ(away.at("name").as_string(), "old");
  EXPECT_EQ(away.at("types"), boost::json::value({"room.*", "visit.noted"}));
  EXPECT_EQ(away.at("owed").as_int64(), 1);
  EXPECT_FALSE(away.at("configured").as_bool());
  EXPECT_TRUE(away.as_object().contains("oldest"));
  EXPECT_FALSE(away.as_object().contains("lastConfirmedAt"));
  EXPECT_THAT(away.at("trouble").as_string().c_str(), HasSubstr("nobody takes its letters"));
  EXPECT_TRUE(away.as_object().contains("troubleSince"));
  const auto rest = get("/api/subscribers?limit=2&cursor=" + std::string(page.at("nextCursor").as_string()));
  ASSERT_EQ(rest.at("items").as_array().size(), 1u);
  EXPECT_EQ(rest.at("items").at(0).at("service").as_string(), "bar");
  EXPECT_EQ(get("/api/subscribers?service=bar").at("items").as_array().size(), 1u);
}

TEST_P(SubscriberPathsTest, OneIsShownWithItsLanes) {
  deliver("e1");
  inn_.engine.stop();
  emit("e2");
  const auto found = get("/api/subscribers/bar");
  EXPECT_EQ(found.at("service").as_string(), "inn");
  EXPECT_EQ(found.at("owed").as_int64(), 1);
  ASSERT_EQ(found.at("lanes").as_array().size(), 1u);
  const auto& lane = found.at("lanes").at(0);
  EXPECT_EQ(lane.at("partition").as_int64(), partition_of("k"));
  EXPECT_EQ(lane.at("last").as_int64(), 1);
  EXPECT_EQ(lane.at("owed").as_int64(), 1);
  const Response unknown = ask("GET", "/api/subscribers/nobody");
  EXPECT_EQ(unknown.status, 404);
  EXPECT_THAT(unknown.body, HasSubstr("NO_SUCH_SUBSCRIBER"));
}

TEST_P(SubscriberPathsTest, WhatTheyDoNotKnowIsRefused) {
  EXPECT_THAT(ask("GET", "/api/subscribers?nmae=bar").body, HasSubstr("UNKNOWN_FILTER"));
  EXPECT_THAT(ask("GET", "/api/subscribers?service=pub").body, HasSubstr("BAD_FILTER"));
  EXPECT_EQ(ask("GET", "/api/subscribers/bar?limit=1").status, 422);
  Routes guarded(env_, Authenticator(env_, "the secret of these tests"), "1");
  add_engine_paths(guarded, {env_, {{"inn", inn_.engine}}, metrics_});
  Request request;
  request.method = "GET";
  request.path = "/api/subscribers";
  EXPECT_EQ(guarded.dispatch(request).status, 401);
  EXPECT_EQ(guarded.dispatch_as({Role::customer, "kim"}, request).status, 403);
}

TEST_P(SubscriberPathsTest, ARemovalNeedsAReasonAndSaysWhatWasOwed) {
  subscribe_old(inn_);
  emit("e1");
  for (const char* bad : {"", "{}", R"({"reason":""})", R"({"reason":"\u001b"})"})
    EXPECT_THAT(ask("POST", "/api/subscribers/old/remove", bad).status, testing::AnyOf(400, 422)) << bad;
  EXPECT_EQ(get("/api/subscribers/old").at("owed").as_int64(), 1);
  const std::string reason = R"({"reason":"it is gone"})";
  const Response removed = ask("POST", "/api/subscribers/old/remove", reason, "key-1");
  EXPECT_EQ(removed.body, R"({"name":"old","owed":1,"configured":false,"service":"inn"})");
  EXPECT_EQ(ask("POST", "/api/subscribers/old/remove", reason, "key-1").body, removed.body) << "the same again";
  EXPECT_EQ(ask("POST", "/api/subscribers/old/remove", reason, "key-2").status, 404);
  EXPECT_EQ(ask("GET", "/api/subscribers/old").status, 404);
  EXPECT_EQ(get("/api/outbox/e1").at("status").as_string(), "COMPLETED");
  const auto audit = get("/api/audit?action=subscriber.remove");
  ASSERT_EQ(audit.at("items").as_array().size(), 1u);
  EXPECT_EQ(audit.at("items").at(0).at("target").as_string(), "old");
  EXPECT_EQ(audit.at("items").at(0).at("detail").as_string(), "it was still owed 1 events: it is gone");
}

TEST_P(SubscriberPathsTest, ANameThatSeveralServicesHaveIsRemovedWhereItIsSaid) {
  subscribe_old(inn_);
  subscribe_old(bar_);
  const std::string reason = R"({"reason":"it is gone"})";
  EXPECT_THAT(ask("POST", "/api/subscribers/old/remove", reason).body, HasSubstr("SEVERAL_SERVICES"));
  EXPECT_EQ(ask("POST", "/api/subscribers/old/remove?service=bar", reason).status, 200);
  EXPECT_EQ(get("/api/subscribers/old").at("service").as_string(), "inn");
}

TEST_P(SubscriberPathsTest, AnEntrySaysWhoHasItAndWhoIsOwedIt) {
  subscribe_old(inn_);
  deliver("e1");
  const auto entry = get("/api/outbox/e1?service=inn");
  EXPECT_EQ(entry.at("status").as_string(), "PENDING");
  ASSERT_EQ(entry.at("deliveries").as_array().size(), 2u);
  const auto& has = entry.at("deliveries").at(0);
  EXPECT_EQ(has.at("subscriber").as_string(), "bar");
  EXPECT_FALSE(has.at("owed").as_bool());
  EXPECT_EQ(has.at("letter").as_int64(), 1);
  EXPECT_EQ(has.at("partition").as_int64(), partition_of("k"));
  EXPECT_TRUE(has.as_object().contains("since"));
  const auto& lacks = entry.at("deliveries").at(1);
  EXPECT_TRUE(lacks.at("owed").as_bool());
  EXPECT_FALSE(lacks.as_object().contains("letter"));
  EXPECT_FALSE(lacks.as_object().contains("since"));
  ask("POST", "/api/subscribers/old/remove", R"({"reason":"it is gone"})");
  const auto ended = get("/api/outbox/e1?service=inn");
  EXPECT_EQ(ended.at("status").as_string(), "COMPLETED");
  EXPECT_EQ(ended.at("deliveries").as_array().size(), 1u);
  EXPECT_TRUE(ended.at("attempts").as_array().empty()) << "nobody here was to have it";
}

TEST_P(SubscriberPathsTest, MetricsTellOfEachOne) {
  subscribe_old(inn_);
  deliver("e1");
  const std::string before = ask("GET", "/metrics").body;
  EXPECT_THAT(before, HasSubstr("\nskald_post_owed{subscriber=\"bar\"} 0\n"));
  EXPECT_THAT(before, HasSubstr("\nskald_post_owed{subscriber=\"old\"} 1\n"));
  EXPECT_THAT(before, HasSubstr("\nskald_post_up{subscriber=\"bar\"} 1\n"));
  EXPECT_THAT(before, HasSubstr("\nskald_post_up{subscriber=\"old\"} 0\n"));
  EXPECT_THAT(before, HasSubstr("\nskald_post_oldest_owed_age_seconds{subscriber=\"bar\"} 0\n"));
  EXPECT_THAT(before, Not(HasSubstr("skald_post_oldest_owed_age_seconds{subscriber=\"old\"} 0\n")));
}

}  // namespace
}  // namespace skald::http
