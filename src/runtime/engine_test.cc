// The engine on its threads, over both databases; also what ThreadSanitizer looks at.
#include "skald/engine.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "runtime/worker_pool.h"
#include "support/test_database.h"

namespace skald {
namespace {

struct EngineTest : testing::TestWithParam<Dialect> {
  std::unique_ptr<Clock> clock = system_clock();
  std::unique_ptr<Random> random = system_random();
  Env env{*clock, *random, silent_observer()};
};

INSTANTIATE_TEST_SUITE_P(Databases, EngineTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(EngineTest, EveryEventOfManyProducersIsHandledOnceInOrder) {
  constexpr int kProducers = 4, kEach = 150;
  const auto fixture = test::TestDatabase::of(GetParam(), env);
  Database& db = **fixture;
  Engine engine(env, db, {});
  std::mutex mutex;
  std::map<std::string, std::vector<int>> seen;
  std::promise<void> all;
  int count = 0;
  engine.consume({.name = "count", .type = "number", .handle = [&](Transaction& tx, const Message& message) {
                    tx.enqueue("INSERT INTO effect (id) VALUES ($1)", message.event.id);
                  }});
  engine.on_settled("number", [&](Transaction&, const Entry& entry, EntryStatus) {
    std::lock_guard lock(mutex);  // batches here never run twice: nothing fails
    seen[entry.event.key].push_back(std::stoi(entry.event.payload));
    if (++count == kProducers * kEach) all.set_value();
  });
  db.write("table", [](Transaction& tx) { tx.execute("CREATE TABLE effect (id TEXT PRIMARY KEY)"); });
  engine.start();
  std::vector<std::thread> producers;
  for (int p = 0; p < kProducers; ++p)
    producers.emplace_back([&, p] {
      for (int i = 0; i < kEach; ++i)
        db.write("produce", [&](Transaction& tx) {
          tx.emit({.id = "",
                   .type = "number",
                   .key = "key-" + std::to_string(p),
                   .subject = "",
                   .payload = std::to_string(i),
                   .traceparent = ""});
        });
    });
  for (auto& producer : producers) producer.join();
  ASSERT_EQ(all.get_future().wait_for(60s), std::future_status::ready);
  engine.stop();
  for (const auto& [key, numbers] : seen) EXPECT_TRUE(std::ranges::is_sorted(numbers)) << key;
  const auto effects =
      db.read_result([](Transaction& tx) { return tx.query("SELECT COUNT(*) FROM effect").get<int>(0, 0); });
  EXPECT_EQ(effects, kProducers * kEach);
  EXPECT_EQ(engine.backlog().live, 0);
}

TEST_P(EngineTest, AStoppedEngineHandsItsPartitionsOver) {
  const auto fixture = test::TestDatabase::of(GetParam(), env);
  Engine engine(env, **fixture, {});
  engine.start();
  EXPECT_TRUE(engine.ready());
  ASSERT_EQ(engine.workers().size(), 1u);
  EXPECT_EQ(engine.workers()[0].running, kPartitions);
  engine.stop();
  EXPECT_TRUE(engine.workers().empty());
}

TEST(WorkerPool, RunsEverythingThatWasPosted) {
  std::atomic<int> done{0};
  {
    runtime::WorkerPool pool(4);
    for (int i = 0; i < 1000; ++i) pool.post([&] { ++done; });
  }
  EXPECT_EQ(done, 1000);
}

}  // namespace
}  // namespace skald
