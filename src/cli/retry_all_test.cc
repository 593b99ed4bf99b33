// skald sagas retry --all, through the API of an engine that does not run, on both databases.
#include <gmock/gmock.h>

#include <sstream>

#include "cli/command.h"
#include "http/engine_paths.h"
#include "http/idempotency.h"
#include "store/tables/saga.h"
#include "support/test_database.h"

namespace skald::cli {
namespace {

using testing::HasSubstr;

struct Trip {
  std::string name;
};
BOOST_DESCRIBE_STRUCT(Trip, (), (name))

Saga<Trip> waiting(const std::string& type) {
  return Saga<Trip>(type).local("book", [](Local&, Trip&) {}).nothing_to_undo().await("go", "go").timeout(1h);
}

class RetryAllTest : public testing::TestWithParam<Dialect> {
 protected:
  RetryAllTest() {
    http::migrate_api_keys(**db_);
    http::add_engine_paths(routes_, {env_, {{"shop", engine_}}, metrics_});
    for (const auto& saga : {trip_, walk_}) engine_.sagas().add(saga);
  }

  // A saga that needs help.
  void park(const Saga<Trip>& saga, const std::string& id, const std::string& code) {
    engine_.sagas().run(saga, Trip{}, {.key = id, .id = id});
    park_again(id, code);
  }
  void park_again(const std::string& id, const std::string& code) {
    (*db_)->write("park", [&](Transaction& tx) {
      auto row = tables::saga::find(tx, id).value();
      row.status = SagaStatus::NEEDS_HELP;
      row.log.clear();
      row.error_code = code;
      tables::saga::update(tx, row);
    });
  }
  std::size_t need_help() {
    return (*db_)->read_result(
        [&](Transaction& tx) { return tables::saga::list(tx, {SagaStatus::NEEDS_HELP, {}, {}, {}, 1000, {}}).size(); });
  }
  SagaStatus status(const std::string& id) {
    return (*db_)->read_result([&](Transaction& tx) { return tables::saga::find(tx, id)->status; });
  }
  // The command's exit code; what it said is in out_.
  int retry_all(std::vector<std::string> more, std::ostream* progress = nullptr) {
    std::vector<std::string> words = {"sagas", "retry", "--all"};
    words.insert(words.end(), more.begin(), more.end());
    out_.str("");
    return run_retry_all(
        parse_arguments(words),
        [this](const Request& request) {
          asked_ += request.method == "POST" ? 1 : 0;
          if (instead_) instead_(request);
          return routes_.dispatch(request);
        },
        out_, progress);
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  Metrics metrics_;
  Saga<Trip> trip_ = waiting("trip"), walk_ = waiting("walk");
  std::unique_ptr<test::TestDatabase> db_ = test::TestDatabase::of(GetParam(), env_);
  Engine engine_{env_, **db_, {.works = false}};
  http::Routes routes_{env_, http::Authenticator(env_, std::nullopt), "1"};
  std::function<void(const Request&)> instead_;  // sees each request first
  int asked_ = 0;                                // retries
  std::ostringstream out_;
};
INSTANTIATE_TEST_SUITE_P(Both, RetryAllTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& about) { return about.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(RetryAllTest, EverySagaThatNeedsHelpIsRetriedPageByPage) {
  for (int i = 0; i < 120; ++i) park(trip_, "t" + std::to_string(1000 + i), "GONE");
  engine_.sagas().run(trip_, Trip{}, {.key = "", .id = "u"});
  EXPECT_EQ(retry_all({"--json"}), kDone);
  EXPECT_EQ(out_.str(), R"({"retried":120,"failed":0,"goneOn":0,"leftOut":0,"failures":[]})"
                        "\n");
  EXPECT_EQ(need_help(), 0u);
  EXPECT_EQ(status("u"), SagaStatus::WAITING);
  EXPECT_EQ(retry_all({}), kDone);
  EXPECT_EQ(out_.str(), "0 retried\n");
}

TEST_P(RetryAllTest, FiltersLeaveTheOthersAlone) {
  park(trip_, "t1", "GONE");
  park(trip_, "t2", "DEADLINE");
  park(walk_, "w1", "GONE");
  EXPECT_EQ(retry_all({"--type", "trip", "--code", "GONE"}), kDone);
  EXPECT_EQ(out_.str(), "1 retried\n");
  EXPECT_EQ(status("t1"), SagaStatus::RUNNING);
  EXPECT_EQ(need_help(), 2u);
}

TEST_P(RetryAllTest, ThoseThatMayKillWorkersAreLeftOutUntilTheyAreNamed) {
  park(trip_, "t1", "CRASHED");
  park(trip_, "t2", "UNREADABLE");
  park(trip_, "t3", "GONE");
  EXPECT_EQ(retry_all({}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("1 retried\n2 left out, parked as CRASHED or UNREADABLE"));
  EXPECT_EQ(need_help(), 2u);
  EXPECT_EQ(retry_all({"--code", "CRASHED"}), kDone);
  EXPECT_EQ(out_.str(), "1 retried\n");
  EXPECT_EQ(status("t1"), SagaStatus::RUNNING);
  EXPECT_EQ(status("t2"), SagaStatus::NEEDS_HELP);
}

TEST_P(RetryAllTest, OneThatFailsIsReportedAndTheOthersAreRetried) {
  for (const char* id : {"t1", "t2", "t3"}) park(trip_, id, "GONE");
  instead_ = [](const Request& request) {
    if (request.path.find("/t2/retry") != std::string::npos) throw Unavailable("SERVER_UNREACHABLE", "no answer");
  };
  EXPECT_EQ(retry_all({}), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("2 retried, 1 failed\n"));
  EXPECT_THAT(out_.str(), HasSubstr("t2      shop     SERVER_UNREACHABLE  no answer\n"));
  EXPECT_EQ(need_help(), 1u);
}

TEST_P(RetryAllTest, OneThatSomebodyElseHasRetriedIsNoFailure) {
  for (const char* id : {"t1", "t2"}) park(trip_, id, "GONE");
  instead_ = [&](const Request& request) {
    if (request.path.find("/t2/retry") == std::string::npos) return;
    (*db_)->write("retry", [&](Transaction& tx) { engine_.sagas().retry(tx, "t2", "another"); });
  };
  EXPECT_EQ(retry_all({}), kDone);
  EXPECT_EQ(out_.str(), "1 retried, 1 had gone on meanwhile\n");
}

TEST_P(RetryAllTest, ThoseThatNeedHelpAgainAreNotRetriedForEver) {
  for (int i = 0; i < 60; ++i) park(trip_, "t" + std::to_string(1000 + i), "GONE");
  std::string last;
  instead_ = [&](const Request& request) {
    if (!last.empty()) park_again(last, "GONE");
    last = request.method == "POST" ? request.path.substr(std::string("/api/sagas/").size(), 5) : "";
    if (asked_ > 100) throw std::logic_error("it goes round and round");
  };
  EXPECT_EQ(retry_all({}), kDone);
  EXPECT_EQ(out_.str(), "60 retried\n");
  EXPECT_EQ(asked_, 60);
}

TEST_P(RetryAllTest, WhatWasDoneIsToldWhereTheListCannotBeGoneOnWith) {
  for (int i = 0; i < 60; ++i) park(trip_, "t" + std::to_string(1000 + i), "GONE");
  instead_ = [](const Request& request) {
    if (request.path.find("cursor=") != std::string::npos) throw Unavailable("SERVER_UNREACHABLE", "no answer");
  };
  EXPECT_THROW(retry_all({}), Unavailable);
  EXPECT_EQ(out_.str(), "50 retried\n");
}

TEST_P(RetryAllTest, ATerminalSeesHowFarItIs) {
  for (const char* id : {"t1", "t2"}) park(trip_, id, "GONE");
  std::ostringstream terminal;
  EXPECT_EQ(retry_all({"--json"}, &terminal), kDone);
  EXPECT_EQ(terminal.str(), "\r1 retried\r2 retried\r\033[K");
}

}  // namespace
}  // namespace skald::cli
