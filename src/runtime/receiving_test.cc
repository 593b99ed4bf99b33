// An engine that drives an inlet.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>

#include "runtime/wakeup.h"
#include "skald/engine.h"
#include "support/test_database.h"

namespace skald {
namespace {

// Lands what a test gives it, in its engine's thread, once it has all partitions.
class ScriptedInlet final : public Inlet {
 public:
  void set_partitions(std::uint64_t mask) override { mask_ = mask; }
  void poll(Duration wait, std::span<const int> wake) override {
    wakeup_.wait(wait, wake);
    std::unique_lock lock(mutex_);
    const auto next = mask_ == ~std::uint64_t{0} ? std::exchange(next_, {}) : std::function<void()>();
    lock.unlock();
    if (next) next();
  }
  bool is_up() const override { return up; }
  Duration memory() const override { return 24h; }

  void next(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    next_ = std::move(work);
    wakeup_.set();
  }
  std::atomic<bool> up = true;

 private:
  std::uint64_t mask_ = 0;
  runtime::Wakeup wakeup_;
  std::mutex mutex_;
  std::function<void()> next_;
};

class ReceivingTest : public testing::TestWithParam<Dialect> {
 protected:
  void open(EngineOptions options = {}) {
    options.alert = [this](std::string_view code, std::string_view text) {
      alerts_.push_back(std::string(code) + ": " + std::string(text));
    };
    engine_ = std::make_unique<Engine>(env_, **database_, options);
  }
  // In the inlet's thread.
  void in_inlet(const std::function<void()>& work) {
    std::promise<void> done;
    inlet_.next([&] {
      work();
      done.set_value();
    });
    ASSERT_EQ(done.get_future().wait_for(60s), std::future_status::ready);
  }
  std::int64_t count(const std::string& sql) {
    return (*database_)->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::of(GetParam(), env_);
  ScriptedInlet inlet_;
  std::vector<std::string> alerts_;
  std::unique_ptr<Engine> engine_;
};
INSTANTIATE_TEST_SUITE_P(Databases, ReceivingTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(ReceivingTest, AnInletGetsThePartitionsThatTheEngineOwnsAndItsEventsAreHandled) {
  open();
  std::promise<std::string> handled;
  engine_->consume({.name = "c", .type = "t", .handle = [&](Transaction&, const Message& message) {
                      handled.set_value(message.event.id);
                    }});
  engine_->receive(inlet_);
  engine_->start();
  in_inlet([&] {
    const Message message{{.id = "e", .type = "t", .key = "k", .subject = "s", .payload = "{}", .traceparent = ""},
                          "/other",
                          clock_->now(),
                          1,
                          false};
    engine_->land({&message, 1});
  });
  auto found = handled.get_future();
  ASSERT_EQ(found.wait_for(60s), std::future_status::ready);
  EXPECT_EQ(found.get(), "e");
  engine_->stop();
}

TEST_P(ReceivingTest, WhatNobodyCanReadIsADeadLetterAndTellsAPersonOnce) {
  open();
  engine_->receive(inlet_);
  engine_->start();
  in_inlet([&] {
    for (int i = 0; i < 2; ++i) engine_->set_aside("skald.other.7", "\xff nonsense", "it is no JSON");
    engine_->set_aside("skald.other.7", "words", "it is no JSON");
  });
  engine_->stop();
  EXPECT_EQ(count("SELECT COUNT(*) FROM skald_dead_letter WHERE reason = 'UNREADABLE' AND state = 'DEAD'"), 2);
  EXPECT_EQ(count("SELECT COUNT(*) FROM skald_dead_letter WHERE payload = '{\"text\":\"words\"}'"), 1);
  ASSERT_EQ(alerts_.size(), 2u);
  EXPECT_THAT(alerts_[0], testing::StartsWith("UNREADABLE: what came by skald.other.7"));
  const std::string id = (*database_)->read_result([](Transaction& tx) {
    return tx.query("SELECT id FROM skald_dead_letter WHERE payload = '{\"text\":\"words\"}'").get<std::string>(0, 0);
  });
  (*database_)->write("discard", [&](Transaction& tx) { engine_->discard(tx, id, "ada", "sent by hand"); });
  EXPECT_EQ(count("SELECT COUNT(*) FROM skald_dead_letter WHERE state = 'DISCARDED'"), 1);
}

TEST_P(ReceivingTest, AnInletWhoseEventsOutliveTheirIdsIsRefused) {
  EngineOptions options;
  options.outbox.retention = 23h;
  open(options);
  EXPECT_THAT([&] { engine_->receive(inlet_); },
              testing::ThrowsMessage<Invalid>(testing::HasSubstr("outbox.retention to 24h")));
}

TEST_P(ReceivingTest, AnInletThatIsDownIsSeen) {
  open();
  inlet_.up = false;
  engine_->receive(inlet_);
  engine_->start();
  in_inlet([] {});
  EXPECT_FALSE(engine_->buses_up());
  inlet_.up = true;
  for (int i = 0; i < 3; ++i) in_inlet([] {});  // the round of the first has ended by then
  EXPECT_TRUE(engine_->buses_up());
  engine_->stop();
}

}  // namespace
}  // namespace skald
