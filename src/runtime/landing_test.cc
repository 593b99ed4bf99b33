// Events of other services, from their landing to their handlers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <mutex>

#include "skald/engine.h"
#include "support/test_database.h"

namespace skald {
namespace {

// Would tell, were anything sent on.
class TellTaleBus final : public Bus {
 public:
  void send(Message message, Done) override { sent.push_back(message.event.id); }
  void poll(Duration, std::span<const int>) override {}
  std::size_t in_flight() const override { return 0; }
  std::vector<std::string> sent;
};

Message message(const std::string& id, const std::string& key = "k", const std::string& type = "slot.reserve") {
  return {{.id = id, .type = type, .key = key, .subject = "b", .payload = "{}", .traceparent = ""},
          "/booking",
          from_micros(1'790'000'000'123'456),
          1,
          false};
}

class LandingTest : public testing::TestWithParam<Dialect> {
 protected:
  LandingTest() {
    engine_.consume({.name = "course", .type = "slot.*", .handle = [this](Transaction&, const Message& landed) {
                       if (landed.event.id == "refused") throw Refused("NO", "no");
                       std::lock_guard lock(mutex_);
                       seen_.push_back(landed);
                     }});
    engine_.consume(
        {.name = "end", .type = "end", .handle = [this](Transaction&, const Message&) { end_.set_value(); }});
    engine_.route({.type = "slot.*", .bus = &bus_});
    engine_.start();
  }
  Database& db() { return **fixture_; }
  void land(std::vector<Message> messages) { engine_.land(messages); }
  // Everything that was landed before it has been handled, because all have one key.
  void settle() {
    land({message("end", "k", "end")});
    ASSERT_EQ(end_.get_future().wait_for(60s), std::future_status::ready);
    engine_.stop();
  }
  std::vector<std::string> ids() {
    std::vector<std::string> out;
    for (const Message& one : seen_) out.push_back(one.event.id);
    return out;
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> fixture_ = test::TestDatabase::of(GetParam(), env_);
  TellTaleBus bus_;
  Engine engine_{env_, db(), {}};
  std::mutex mutex_;
  std::vector<Message> seen_;
  std::promise<void> end_;
};
INSTANTIATE_TEST_SUITE_P(Databases, LandingTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(LandingTest, WhatLandsIsHandledOnceInItsOrderAndSentNowhere) {
  land({message("3"), message("1"), message("2")});
  land({message("1"), message("4"), message("4")});
  settle();
  EXPECT_THAT(ids(), testing::ElementsAre("3", "1", "2", "4"));
  EXPECT_EQ(seen_[0].source, "/booking");
  EXPECT_EQ(seen_[0].time, from_micros(1'790'000'000'123'456));
  EXPECT_THAT(bus_.sent, testing::IsEmpty());
}

TEST_P(LandingTest, WhatItsHandlerRefusesIsADeadLetterAndBlocksNobody) {
  land({message("refused"), message("next")});
  settle();
  EXPECT_THAT(ids(), testing::ElementsAre("next"));
  const auto entry = db().read_result([&](Transaction& tx) { return engine_.find_entry(tx, "refused"); });
  EXPECT_EQ(entry->status, EntryStatus::DEAD_LETTER);
  EXPECT_EQ(entry->source, "/booking");
}

TEST_P(LandingTest, AnEventWithoutASourceIsNoneOfAnotherService) {
  Message own = message("1");
  own.source.clear();
  EXPECT_THROW(land({own}), Invalid);
}

}  // namespace
}  // namespace skald
