// Many callers at once.
#include <atomic>
#include <thread>

#include "store_suite.h"

namespace skald::test {
namespace {

class StoreConcurrency : public StoreTest {};
SKALD_ON_EVERY_STORE(StoreConcurrency);

void run_threads(int count, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

TEST_P(StoreConcurrency, LosesNoIncrementOfManyWriters) {
  db().write("put", [&](Transaction& tx) { put(tx, "sum", 0); });
  run_threads(8, [&](int) {
    for (int i = 0; i < 200; ++i)
      db().write("increment",
                 [](Transaction& tx) { tx.execute("UPDATE item SET amount = amount + 1 WHERE id = 'sum'"); });
  });
  EXPECT_EQ(items(), "sum=1600");
}

TEST_P(StoreConcurrency, TellsEachCallerItsOwnOutcome) {
  std::atomic<int> refused = 0, conflicts = 0, done = 0;
  run_threads(8, [&](int thread) {
    for (int i = 0; i < 60; ++i) {
      try {
        db().write("mixed", [&](Transaction& tx) {
          put(tx, std::to_string(thread) + "-" + std::to_string(i), i);
          if (i % 3 == 1) throw Refused("NO", "no");
          if (i % 3 == 2) put(tx, std::to_string(thread) + "-0", 1);
        });
        ++done;
      } catch (const Refused&) {
        ++refused;
      } catch (const Conflict&) {
        ++conflicts;
      }
    }
  });
  EXPECT_EQ(done, 160);
  EXPECT_EQ(refused, 160);
  EXPECT_EQ(conflicts, 160);
  EXPECT_EQ(db().read_result([](Transaction& tx) { return tx.query("SELECT count(*) FROM item").get<int>(0, 0); }),
            160);
}

TEST_P(StoreConcurrency, ShowsReadersWholeTransactionsOnly) {
  db().write("put", [&](Transaction& tx) {
    put(tx, "a", 100);
    put(tx, "b", 0);
  });
  std::atomic<bool> stop = false;
  std::thread reader([&] {
    do {
      db().read([](Transaction& tx) {
        const auto amount = [&](const char* id) {
          return tx.query("SELECT amount FROM item WHERE id = $1", id).get<int>(0, 0);
        };
        EXPECT_EQ(amount("a") + amount("b"), 100);
      });
    } while (!stop);
  });
  for (int i = 0; i < 100; ++i)
    db().write("move", [](Transaction& tx) {
      tx.execute("UPDATE item SET amount = amount - 1 WHERE id = 'a'");
      tx.execute("UPDATE item SET amount = amount + 1 WHERE id = 'b'");
    });
  stop = true;
  reader.join();
  EXPECT_EQ(items(), "a=0 b=100");
}

TEST_P(StoreConcurrency, MigratesOnceWhenManyProgramsStartTogether) {
  const std::vector<Migration> steps = {{.version = 1,
                                         .name = "one",
                                         .sql = "CREATE TABLE once (id BIGINT); INSERT INTO once VALUES (1)",
                                         .postgres_sql = ""}};
  run_threads(4, [&](int) { db().migrate("once", steps); });
  EXPECT_EQ(db().read_result([](Transaction& tx) { return tx.query("SELECT count(*) FROM once").get<int>(0, 0); }), 1);
}

}  // namespace
}  // namespace skald::test
