// An engine that is asked to end, where others can follow it at once. Beats and leases last for
// hours here: what goes on was handed over.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "runtime/wakeup.h"
#include "skald/engine.h"
#include "store/tables/outbox.h"
#include "store/tables/saga.h"
#include "support/test_database.h"

namespace skald {
namespace {

struct Handful {
  std::string what;
};
BOOST_DESCRIBE_STRUCT(Handful, (), (what))

constexpr Duration kPatience = 60s;
EngineOptions slow_beats() {
  EngineOptions out;
  out.outbox.beat = 6h;
  out.outbox.lease = 24h;
  return out;
}

// Told once.
class Signal {
 public:
  void set() {
    if (!told_.exchange(true)) promise_.set_value();
  }
  bool wait() { return future_.wait_for(kPatience) == std::future_status::ready; }

 private:
  std::atomic<bool> told_{false};
  std::promise<void> promise_;
  std::future<void> future_ = promise_.get_future();
};

// Code of a user that does not come back before it is let go.
struct Stuck {
  void operator()() {
    begun.set();
    EXPECT_TRUE(free.wait());
  }
  Signal begun, free;
};

class HandOverTest : public testing::Test {
 protected:
  Database& db() { return **database_; }
  std::unique_ptr<Database> again() { return open_postgres(env_, {.url = database_->address()}); }
  void emit(const std::string& id, const std::string& key = "k") {
    db().write("emit", [&](Transaction& tx) { tx.emit({.id = id, .type = "t", .key = key, .payload = "{}"}); });
  }
  // Until `owned` partitions belong to each of its workers.
  bool shared_out(Engine& engine, std::size_t workers) {
    runtime::Wakeup tick;
    for (const auto end = clock_->steady() + kPatience; clock_->steady() < end; tick.wait(5ms)) {
      const auto all = engine.workers();
      if (all.size() == workers && std::ranges::all_of(all, [&](const WorkerView& one) {
            return one.running == kPartitions / static_cast<int>(workers);
          }))
        return true;
    }
    return false;
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::postgres(env_);
};

TEST_F(HandOverTest, WhoComesGetsItsShareAndWhoGoesLeavesItAllAtOnce) {
  const auto other = again();
  Engine first(env_, db(), slow_beats()), second(env_, *other, slow_beats());
  first.start();
  ASSERT_TRUE(shared_out(first, 1));
  second.start();
  ASSERT_TRUE(shared_out(first, 2)) << "the first gives back, the second takes";
  first.stop();
  EXPECT_TRUE(shared_out(second, 1));
}

TEST_F(HandOverTest, AnEventWhoseHandlerDoesNotEndIsHandledElsewhereAndNotSuspect) {
  const auto other = again();
  Engine leaves(env_, db(), slow_beats()), follows(env_, *other, slow_beats());
  Stuck stuck;
  Signal handled;
  leaves.consume({.name = "c", .type = "t", .handle = [&](Transaction&, const Message&) { stuck(); }});
  follows.consume({.name = "c", .type = "t", .handle = [&](Transaction&, const Message&) { handled.set(); }});
  leaves.start();
  emit("e1");
  ASSERT_TRUE(stuck.begun.wait());
  follows.start();
  std::thread stopping([&] { leaves.stop(50ms); });
  EXPECT_TRUE(handled.wait()) << "while the other is in its handler still";
  stuck.free.set();
  stopping.join();
  follows.stop();
  const auto entry = db().read_result([](Transaction& tx) { return tables::outbox::find(tx, "e1"); });
  EXPECT_EQ(entry->status, EntryStatus::COMPLETED);
  EXPECT_EQ(entry->crashes, 0);
  EXPECT_EQ(entry->attempts, 1);
}

TEST_F(HandOverTest, ASagaWhoseCallDoesNotEndGoesOnElsewhereAndNotSuspect) {
  const auto other = again();
  Engine leaves(env_, db(), slow_beats()), follows(env_, *other, slow_beats());
  Stuck stuck;
  Signal called;
  const auto saga = [](std::function<void()> call) {
    return Saga<Handful>("handful").remote("call", [call](Remote&, Handful&) { call(); }).nothing_to_undo();
  };
  leaves.sagas().add(saga([&] { stuck(); }));
  follows.sagas().add(saga([&] { called.set(); }));
  leaves.start();
  const std::string id = leaves.sagas().start(saga([] {}), Handful{}).id;
  ASSERT_TRUE(stuck.begun.wait());
  follows.start();
  std::thread stopping([&] { leaves.stop(50ms); });
  EXPECT_TRUE(called.wait()) << "while the other is in its call still";
  stuck.free.set();
  stopping.join();
  follows.stop();
  const auto row = db().read_result([&](Transaction& tx) { return tables::saga::find(tx, id); });
  EXPECT_EQ(row->status, SagaStatus::COMPLETED);
  EXPECT_EQ(row->take_overs, 0);
}

// One thread is in a call; what is ready behind it does not wait for its end, nor for the grace's.
TEST_F(HandOverTest, SagasThatAreReadyBesideACallAreGivenAwayBeforeItEnds) {
  const auto other = again();
  EngineOptions one_thread = slow_beats();
  one_thread.saga_threads = 1;
  Engine leaves(env_, db(), one_thread), follows(env_, *other, slow_beats());
  Stuck stuck;
  Signal called;
  const auto saga = [](std::string type, std::function<void()> call) {
    return Saga<Handful>(std::move(type)).remote("call", [call](Remote&, Handful&) { call(); }).nothing_to_undo();
  };
  leaves.sagas().add(saga("slow", [&] { stuck(); }));
  leaves.sagas().add(saga("quick", [] {}));
  follows.sagas().add(saga("slow", [] {}));
  follows.sagas().add(saga("quick", [&] { called.set(); }));
  leaves.start();
  leaves.sagas().start(saga("slow", [] {}), Handful{});
  ASSERT_TRUE(stuck.begun.wait());
  leaves.sagas().start(saga("quick", [] {}), Handful{});
  follows.start();
  std::thread stopping([&] { leaves.stop(kPatience * 2); });
  EXPECT_TRUE(called.wait());
  stuck.free.set();
  stopping.join();
}

}  // namespace
}  // namespace skald
