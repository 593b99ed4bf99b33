// Two engines with their threads, and letters between them.
#include "runtime/local_post.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <mutex>

#include "skald/engine.h"
#include "support/test_database.h"

namespace skald::runtime {
namespace {

using testing::ElementsAre;

class LocalPostTest : public testing::TestWithParam<Dialect> {
 protected:
  // "order" sends to "stock".
  struct Service {
    Service(Env env, Dialect dialect) : database(test::TestDatabase::of(dialect, env)), engine(env, **database, {}) {}
    std::unique_ptr<test::TestDatabase> database;
    std::unique_ptr<Courier> courier;
    std::unique_ptr<Inlet> letterbox;
    Engine engine;
  };

  LocalPostTest() {
    connect(order_, "order");
    connect(stock_, "stock");
    order_.engine.subscriber({.name = "stock", .types = {"order.*"}});
    stock_.engine.consume({.name = "stock", .type = "order.*", .handle = [this](Transaction&, const Message& message) {
                             const std::lock_guard lock(mutex_);
                             handled_.push_back(message.event.id);
                             changed_.notify_all();
                           }});
  }
  ~LocalPostTest() override {
    order_.engine.stop();
    stock_.engine.stop();
  }
  void connect(Service& service, const std::string& name) {
    Engine& engine = service.engine;
    service.courier = post_.courier();
    service.letterbox =
        post_.letterbox(name, {.accept = [&engine](std::span<const Letter> letters) { return engine.accept(letters); },
                               .answer = [&engine](const Inquiry& inquiry) { return engine.answer(inquiry); }});
    engine.post(*service.courier);
    engine.receive(*service.letterbox);
  }
  void emit(const std::string& id) {
    order_.engine.database().write(
        "emit", [&](Transaction& tx) { tx.emit({.id = id, .type = "order.placed", .key = "k", .payload = "{}"}); });
  }
  std::vector<std::string> handled(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, 60s, [&] { return handled_.size() >= count; });
    return handled_;
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  LocalPost post_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> handled_;
  Service order_{env_, GetParam()}, stock_{env_, GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Databases, LocalPostTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(LocalPostTest, WhatOneServiceEmitsIsHandledByTheOtherInOrder) {
  order_.engine.start();
  stock_.engine.start();
  for (const char* id : {"e1", "e2", "e3"}) emit(id);
  EXPECT_THAT(handled(3), ElementsAre("e1", "e2", "e3"));
}

TEST_P(LocalPostTest, AReceiverThatComesLaterGetsEverything) {
  order_.engine.start();
  for (const char* id : {"e1", "e2"}) emit(id);
  stock_.engine.start();
  EXPECT_THAT(handled(2), ElementsAre("e1", "e2"));
}

TEST_P(LocalPostTest, AStopWaitsForTheAnswersToWhatIsUnderWay) {
  order_.engine.start();
  stock_.engine.start();
  emit("e1");
  handled(1);
  order_.engine.stop();
  const auto entry =
      order_.engine.database().read_result([&](Transaction& tx) { return order_.engine.find_entry(tx, "e1"); });
  EXPECT_EQ(entry->status, EntryStatus::COMPLETED);
  EXPECT_EQ(order_.engine.subscribers().front().owed, 0);
}

TEST_P(LocalPostTest, ASubscriberThatIsRemovedIsOwedNothing) {
  order_.engine.start();
  emit("e1");
  EXPECT_EQ(order_.engine.subscribers().front().owed, 1);
  const auto owed = order_.engine.database().write_result(
      "remove", [&](Transaction& tx) { return order_.engine.remove_subscriber(tx, "stock", "ann", "it is gone"); });
  EXPECT_EQ(owed, 1);
  EXPECT_THAT(order_.engine.subscribers(), testing::IsEmpty());
}

}  // namespace
}  // namespace skald::runtime
