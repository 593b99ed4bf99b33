// A disk that is full, and one that does not keep its word. SQLite's own: PostgreSQL's disk is
// its server's affair.
#include <gmock/gmock.h>

#include <map>

#include "store/sqlite/database.h"
#include "store_suite.h"
#include "support/faulty_disk.h"

namespace skald::test {
namespace {

using ::testing::HasSubstr;

struct DiskObserver final : Observer {
  void count(std::string_view metric, std::int64_t by) override { counted[std::string(metric)] += by; }
  void log(Level level, std::string_view message, std::string_view fields) override {
    if (level >= Level::error) lines.push_back(std::string(message) + " " + std::string(fields));
  }
  std::map<std::string, std::int64_t> counted;
  std::vector<std::string> lines;
};

class StoreDisk : public ::testing::Test {
 protected:
  void SetUp() override {
    open();
    db().write("create",
               [](Transaction& tx) { tx.execute("CREATE TABLE item (id TEXT PRIMARY KEY, amount TEXT NOT NULL)"); });
  }

  void open() {
    db_.reset();
    db_ = std::make_unique<sqlite::SqliteDatabase>(Env{*clock_, *random_, observer_},
                                                   SqliteOptions{.path = (folder_.path() / "disk.db").string()});
  }
  sqlite::SqliteDatabase& db() { return *db_; }
  static void put(Transaction& tx, std::string_view id, std::string_view amount = "1") {
    tx.execute("INSERT INTO item (id, amount) VALUES ($1, $2)", id, amount);
  }
  void write(std::string_view id, std::string_view amount = "1") {
    db().write("put", [&](Transaction& tx) { put(tx, id, amount); });
  }
  std::string ids() {
    return db().read_result([](Transaction& tx) {
      std::string out;
      const Rows rows = tx.query("SELECT id FROM item ORDER BY id");
      for (std::size_t i = 0; i < rows.size(); ++i) out += rows.get<std::string>(i, 0);
      return out;
    });
  }

  FaultyDisk disk_;
  TemporaryFolder folder_;
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  DiskObserver observer_;
  std::unique_ptr<sqlite::SqliteDatabase> db_;
};

constexpr int kBigRows = 3000;  // with a page each: more than the cache holds and a checkpoint waits for
void put_much(Transaction& tx, std::string_view prefix) {
  static const std::string page(9000, 'x');
  for (int i = 0; i < kBigRows; ++i)
    tx.execute("INSERT INTO item (id, amount) VALUES ($1, $2)", std::string(prefix) + std::to_string(i), page);
}

TEST_F(StoreDisk, ThatIsFullAtTheCommitMeansThatNothingHappenedAndTheNextWriteGoesOn) {
  disk_.fill();
  for (const char* id : {"a", "b"}) expect_error<Unavailable>("DISK_FULL", [&] { write(id); });
  EXPECT_GT(disk_.refusals(), 0);
  EXPECT_EQ(ids(), "");
  EXPECT_THAT(db().health().trouble, HasSubstr("disk is full"));
  EXPECT_FALSE(db().health().until_restart);
  EXPECT_EQ(observer_.counted["store_disk_full_total"], 2);
  EXPECT_EQ(observer_.lines.size(), 1u) << "said once, until it is over";
  disk_.make_room();
  write("c");
  EXPECT_EQ(ids(), "c");
  EXPECT_EQ(db().health().trouble, "");
  open();
  EXPECT_EQ(ids(), "c") << "nothing of what was refused comes back with a restart";
}

TEST_F(StoreDisk, ThatIsFullIsNotForgottenByAWriteThatWritesNothing) {
  disk_.fill();
  expect_error<Unavailable>("DISK_FULL", [&] { write("a"); });
  db().write("look", [](Transaction& tx) { tx.query("SELECT 1"); });
  EXPECT_NE(db().health().trouble, "");
}

TEST_F(StoreDisk, ThatIsFullRefusesEveryCallerOfOneCommit) {
  disk_.fill();
  const std::vector<Database::Body> bodies = {[](Transaction& tx) { put(tx, "a"); },
                                              [](Transaction& tx) { put(tx, "b"); },
                                              [](Transaction&) { throw Refused("NO", "no"); }};
  const auto results = db().write_together(bodies);
  for (const auto& result : results)
    expect_error<Unavailable>("DISK_FULL", [&] {
      ASSERT_TRUE(result);
      std::rethrow_exception(result);
    });
  disk_.make_room();
  for (const auto& result : db().write_together(std::span(bodies).first(2))) EXPECT_FALSE(result);
  EXPECT_EQ(ids(), "ab");
}

TEST_F(StoreDisk, ThatIsFullInAStatementUndoesAllEvenOfABodyThatGoesOn) {
  disk_.fill(1'000'000);
  expect_error<Unavailable>("DISK_FULL", [&] {
    db().write("big", [](Transaction& tx) {
      put(tx, "first");
      EXPECT_THROW(put_much(tx, "big"), Unavailable);
      EXPECT_THROW(put(tx, "alone"), Unavailable);
    });
  });
  disk_.make_room();
  EXPECT_EQ(ids(), "");
  write("z");
  EXPECT_EQ(ids(), "z");
}

void create_fatal_table(Database& db) {
  db.write("create",
           [](Transaction& tx) { tx.execute("CREATE TABLE fatal (n BIGINT NOT NULL ON CONFLICT ROLLBACK)"); });
}

TEST_F(StoreDisk, ASavepointDoesNotBringBackATransactionThatSqliteHasEnded) {
  create_fatal_table(db());
  expect_error<Conflict>("CONSTRAINT_VIOLATION", [&] {
    db().write("swallow", [](Transaction& tx) {
      const auto inner = [&] {
        EXPECT_THROW(tx.execute("INSERT INTO fatal VALUES (NULL)"), Conflict);
        EXPECT_THROW(put(tx, "inside"), Conflict);
      };
      EXPECT_THROW(tx.savepoint(inner), Conflict);
      EXPECT_THROW(tx.savepoint([&] { put(tx, "other"); }), Conflict);
      EXPECT_THROW(put(tx, "behind"), Conflict);
    });
  });
  EXPECT_EQ(ids(), "");
}

// The neighbour's transaction is gone with it, and so it runs again.
TEST_F(StoreDisk, WhatOneCallerSwallowsCostsTheOthersOfItsCommitNothing) {
  create_fatal_table(db());
  int runs = 0;
  const std::vector<Database::Body> bodies = {[&](Transaction& tx) {
                                                ++runs;
                                                put(tx, "a");
                                              },
                                              [](Transaction& tx) {
                                                put(tx, "b");
                                                EXPECT_THROW(tx.execute("INSERT INTO fatal VALUES (NULL)"), Conflict);
                                                EXPECT_THROW(put(tx, "c"), Conflict);
                                              },
                                              [](Transaction& tx) { put(tx, "d"); }};
  const auto results = db().write_together(bodies);
  EXPECT_EQ(runs, 2);
  EXPECT_FALSE(results[0]);
  EXPECT_TRUE(results[1]);
  EXPECT_FALSE(results[2]);
  EXPECT_EQ(ids(), "ad");
  write("e");
  EXPECT_EQ(ids(), "ade");
}

TEST_F(StoreDisk, ThatIsFullAtACheckpointHarmsNoCommit) {
  disk_.fill(0, FaultyDisk::kDatabase);
  db().write("big", [](Transaction& tx) { put_much(tx, "big"); });
  EXPECT_GT(disk_.refusals(), 0);
  EXPECT_THAT(db().health().trouble, HasSubstr("disk is full"));
  write("a");
  disk_.make_room();
  write("b");
  EXPECT_EQ(db().health().trouble, "");
  open();
  EXPECT_EQ(db().read_result([](Transaction& tx) { return tx.query("SELECT count(*) FROM item").get<int>(0, 0); }),
            kBigRows + 2);
}

TEST_F(StoreDisk, WhoseSyncFailsStopsTheWriterAndSaysWhy) {
  write("a");
  disk_.fail_syncs(FaultyDisk::kAll);
  expect_error<CommitUnknown>("COMMIT_UNKNOWN", [&] { write("b"); });
  disk_.fail_syncs(0);
  expect_error<Unavailable>("WRITER_STOPPED", [&] { write("c"); });
  EXPECT_THAT(db().health().trouble, HasSubstr("sync"));
  EXPECT_THAT(db().health().trouble, HasSubstr("disk.db"));
  EXPECT_TRUE(db().health().until_restart);
  EXPECT_EQ(observer_.counted["store_writer_stopped_total"], 1);
  ASSERT_EQ(observer_.lines.size(), 1u);
  EXPECT_THAT(observer_.lines[0], HasSubstr("WRITER_STOPPED"));
  EXPECT_EQ(ids(), "a") << "reading goes on";
  open();
  EXPECT_EQ(db().health().trouble, "");
  write("d");
}

TEST_F(StoreDisk, WhoseSyncFailsAtACheckpointStopsTheWriterBehindACommitThatIsGood) {
  disk_.fail_syncs(FaultyDisk::kDatabase);
  db().write("big", [](Transaction& tx) { put_much(tx, "big"); });
  disk_.fail_syncs(0);
  expect_error<Unavailable>("WRITER_STOPPED", [&] { write("a"); });
  open();
  EXPECT_EQ(db().read_result([](Transaction& tx) { return tx.query("SELECT count(*) FROM item").get<int>(0, 0); }),
            kBigRows);
}

}  // namespace
}  // namespace skald::test
