// Transactions: all or nothing, once, in order.
#include <set>

#include "store_suite.h"

namespace skald::test {
namespace {

class StoreTransaction : public StoreTest {};
SKALD_ON_EVERY_STORE(StoreTransaction);

TEST_P(StoreTransaction, KeepsWhatTheBodyWroteOnceItReturns) {
  db().write("put", [&](Transaction& tx) {
    put(tx, "a", 1);
    put(tx, "b", 2);
  });
  EXPECT_EQ(items(), "a=1 b=2");
  database().reopen();
  EXPECT_EQ(items(), "a=1 b=2");
}

TEST_P(StoreTransaction, UndoesEverythingWhenTheBodyThrowsAndPassesTheExceptionOn) {
  expect_error<Refused>("NO", [&] {
    db().write("put", [&](Transaction& tx) {
      put(tx, "a", 1);
      tx.enqueue("INSERT INTO item (id, amount) VALUES ('b', 2)");
      throw Refused("NO", "no");
    });
  });
  EXPECT_EQ(items(), "");
}

TEST_P(StoreTransaction, ThatDoesNothingRunsOnceAndChangesNothing) {
  db().write("put", [&](Transaction& tx) { put(tx, "a", 1); });
  std::vector<std::string> ran;
  db().write("nothing", [&](Transaction&) { ran.emplace_back("write"); });
  db().read([&](Transaction&) { ran.emplace_back("read"); });
  EXPECT_EQ(ran, (std::vector<std::string>{"write", "read"}));
  expect_error<Refused>("NO", [&] { db().write("nothing", [](Transaction&) { throw Refused("NO", "no"); }); });
  EXPECT_EQ(items(), "a=1");
  db().write("put", [&](Transaction& tx) { put(tx, "b", 2); });
  EXPECT_EQ(items(), "a=1 b=2") << "an empty one leaves the database as usable as it was";
}

TEST_P(StoreTransaction, SeesItsOwnWritesAndEnqueuedOnes) {
  db().write("put", [&](Transaction& tx) {
    tx.enqueue("INSERT INTO item (id, amount) VALUES ($1, $2)", "a", 1);
    tx.enqueue("UPDATE item SET amount = amount + $1 WHERE id = $2", 10, "a");
    EXPECT_EQ(tx.query("SELECT amount FROM item WHERE id = 'a'").get<int>(0, 0), 11);
    tx.enqueue("UPDATE item SET amount = amount * 2");
    tx.enqueue("UPDATE item SET amount = amount + 1");
  });
  EXPECT_EQ(items(), "a=23");
}

TEST_P(StoreTransaction, OfEnqueuedStatementsAloneCommits) {
  db().write("put", [&](Transaction& tx) {
    std::string id = "gone";
    tx.enqueue("INSERT INTO item (id, amount) VALUES ($1, 5)", id);
    id = "changed after enqueue";
  });
  EXPECT_EQ(items(), "gone=5");
}

TEST_P(StoreTransaction, FailsAtCommitWhenAnEnqueuedStatementFails) {
  db().write("put", [&](Transaction& tx) { put(tx, "a", 1); });
  expect_error<Conflict>("UNIQUE_VIOLATION", [&] {
    db().write("again", [&](Transaction& tx) {
      put(tx, "b", 2);
      tx.enqueue("INSERT INTO item (id, amount) VALUES ('a', 2)");
      tx.enqueue("INSERT INTO item (id, amount) VALUES ('c', 3)");
    });
  });
  EXPECT_EQ(items(), "a=1");
}

TEST_P(StoreTransaction, ReportsTheFirstOfSeveralFailures) {
  expect_error<Conflict>("CONSTRAINT_VIOLATION", [&] {
    db().write("bad", [&](Transaction& tx) {
      tx.enqueue("INSERT INTO item (id, amount) VALUES ('a', NULL)");
      tx.query("SELECT * FROM no_such_table");
    });
  });
}

TEST_P(StoreTransaction, TurnsAUniqueViolationIntoAConflictAndRollsBack) {
  db().write("put", [&](Transaction& tx) { put(tx, "a", 1); });
  const std::string text = expect_error<Conflict>("UNIQUE_VIOLATION", [&] {
    db().write("again", [&](Transaction& tx) {
      put(tx, "b", 1);
      put(tx, "a", 424242);
    });
  });
  EXPECT_EQ(text.find("424242"), std::string::npos) << "messages hold no values";
  EXPECT_EQ(items(), "a=1");
}

TEST_P(StoreTransaction, RefusesWrongSqlWithTheCause) {
  const std::string text = expect_error<Error>(
      "SQL_ERROR", [&] { db().write("bad", [](Transaction& tx) { tx.query("SELECT id FROM nowhere"); }); });
  EXPECT_NE(text.find("nowhere"), std::string::npos) << text;
  db().write("good", [&](Transaction& tx) { put(tx, "a", 1); });
  EXPECT_EQ(items(), "a=1");
}

// The server, or SQLite by itself (full disk, I/O error), has given the transaction up: what comes
// behind that must not be a transaction of its own.
TEST_P(StoreTransaction, IsLostToABodyThatSwallowsWhatEndedIt) {
  db().write("create", [&](Transaction& tx) {
    tx.execute(on_postgres() ? "CREATE TABLE fatal (n BIGINT NOT NULL)"
                             : "CREATE TABLE fatal (n BIGINT NOT NULL ON CONFLICT ROLLBACK)");
  });
  int refused = 0;
  const auto refuses = [&](const std::function<void()>& call) {
    try {
      call();
    } catch (const Conflict& error) {
      refused += error.code() == "CONSTRAINT_VIOLATION" ? 1 : 0;
    }
  };
  expect_error<Conflict>("CONSTRAINT_VIOLATION", [&] {
    db().write("swallow", [&](Transaction& tx) {
      put(tx, "before", 1);
      refuses([&] { tx.execute("INSERT INTO fatal (n) VALUES (NULL)"); });
      refuses([&] { put(tx, "alone", 1); });
      refuses([&] { tx.enqueue("INSERT INTO item (id, amount) VALUES ('queued', 1)"); });
      refuses([&] { tx.query("SELECT 1"); });
      refuses([&] { tx.savepoint([&] { put(tx, "inner", 1); }); });
      refuses([&] { tx.now(); });
    });
  });
  EXPECT_EQ(refused, 6);
  EXPECT_EQ(items(), "");
  db().write("later", [&](Transaction& tx) { put(tx, "later", 1); });
  EXPECT_EQ(items(), "later=1");
}

TEST_P(StoreTransaction, RefusesToWriteInARead) {
  expect_error<Error>("WRITE_IN_READ", [&] { db().read([&](Transaction& tx) { put(tx, "a", 1); }); });
  EXPECT_EQ(items(), "");
}

TEST_P(StoreTransaction, RefusesAWriteInsideOfAWrite) {
  expect_error<Error>("NESTED_WRITE", [&] {
    db().write("outer", [&](Transaction& tx) {
      put(tx, "a", 1);
      db().write("inner", [&](Transaction& inner) { put(inner, "b", 1); });
    });
  });
  EXPECT_EQ(items(), "");
  db().write("later", [&](Transaction& tx) { put(tx, "c", 1); });
  EXPECT_EQ(items(), "c=1");
}

TEST_P(StoreTransaction, RefusesTransactionControlInUserSql) {
  for (const char* sql : {"COMMIT", "  rollback", "/* x */ BEGIN", "-- x\nSAVEPOINT a", "RELEASE a", "End"}) {
    expect_error<Error>("TRANSACTION_CONTROL", [&] {
      db().write("control", [&](Transaction& tx) {
        put(tx, "a", 1);
        tx.execute(sql);
      });
    });
    expect_error<Error>("TRANSACTION_CONTROL",
                        [&] { db().write("control", [&](Transaction& tx) { tx.enqueue(sql); }); });
  }
  EXPECT_EQ(items(), "");
}

TEST_P(StoreTransaction, ReadsOneSnapshot) {
  db().read([&](Transaction& tx) { EXPECT_EQ(tx.query("SELECT count(*) FROM item").get<int>(0, 0), 0); });
  db().write("put", [&](Transaction& tx) { put(tx, "a", 1); });
  EXPECT_EQ(items(), "a=1");
}

TEST_P(StoreTransaction, HasOneTimeWhichNeverRunsBack) {
  Time last{};
  for (int i = 0; i < 20; ++i) {
    db().write("time", [&](Transaction& tx) {
      const Time first = tx.now();
      tx.query("SELECT 1");
      EXPECT_EQ(tx.now(), first);
      EXPECT_GE(first, last);
      last = first;
    });
  }
  EXPECT_GT(to_micros(last), 1'500'000'000'000'000);
  db().read([&](Transaction& tx) { EXPECT_GE(tx.now(), last); });
}

class StoreSavepoint : public StoreTest {};
SKALD_ON_EVERY_STORE(StoreSavepoint);

Event event(std::string key) {
  return {.id = "", .type = "t", .key = std::move(key), .subject = "", .payload = "{}", .traceparent = ""};
}

std::string keys(std::span<const Event> events) {
  std::string out;
  for (const Event& each : events) out += each.key;
  return out;
}

struct RecordingHook final : CommitHook {
  void before_commit(Transaction& tx, std::span<const Event> events) override {
    log += "before:" + keys(events) + " ";
    for (const Event& each : events) {
      ids.insert(each.id);
      tx.enqueue("INSERT INTO item (id, amount) VALUES ($1, 7)", each.key);
    }
    if (fails) throw Refused("NO", "no");
  }
  void after_commit(std::span<const Event> events) noexcept override {
    seen_after = db == nullptr ? -1 : db->read_result([](Transaction& tx) {
      return tx.query("SELECT count(*) FROM item").get<int>(0, 0);
    });
    log += "after:" + keys(events) + " ";
  }
  Database* db = nullptr;
  bool fails = false;
  int seen_after = -1;
  std::string log;
  std::set<std::string> ids;
};

TEST_P(StoreSavepoint, KeepsWhatItsBodyWrote) {
  db().write("put", [&](Transaction& tx) {
    put(tx, "a", 1);
    tx.savepoint([&] { put(tx, "b", 2); });
    tx.savepoint([&] { tx.enqueue("INSERT INTO item (id, amount) VALUES ('c', 3)"); });
  });
  EXPECT_EQ(items(), "a=1 b=2 c=3");
}

TEST_P(StoreSavepoint, UndoesItsBodyAloneWithItsEventsWhenItThrows) {
  RecordingHook hook;
  db().set_commit_hook(&hook);
  db().write("put", [&](Transaction& tx) {
    put(tx, "a", 1);
    tx.emit(event("1"));
    EXPECT_THROW(tx.savepoint([&] {
      put(tx, "b", 2);
      tx.enqueue("INSERT INTO item (id, amount) VALUES ('c', 3)");
      tx.emit(event("2"));
      throw Refused("NO", "no");
    }),
                 Refused);
    tx.emit(event("3"));
    EXPECT_EQ(keys(tx.emitted()), "13");
    put(tx, "d", 4);
  });
  EXPECT_EQ(items(), "1=7 3=7 a=1 d=4");
  EXPECT_EQ(hook.log, "before:13 after:13 ");
}

TEST_P(StoreSavepoint, UndoesEnqueuedStatementsThatWereNeverSent) {
  db().write("put", [&](Transaction& tx) {
    tx.enqueue("INSERT INTO item (id, amount) VALUES ('a', 1)");
    EXPECT_THROW(tx.savepoint([&] {
      tx.enqueue("INSERT INTO item (id, amount) VALUES ('b', 2)");
      throw Refused("NO", "no");
    }),
                 Refused);
    tx.enqueue("INSERT INTO item (id, amount) VALUES ($1, $2)", "c", 3);
  });
  EXPECT_EQ(items(), "a=1 c=3");
}

TEST_P(StoreSavepoint, LiftsAFailedStatement) {
  db().write("put", [&](Transaction& tx) {
    put(tx, "a", 1);
    EXPECT_THROW(tx.savepoint([&] {
      put(tx, "b", 2);
      put(tx, "a", 9);
    }),
                 Conflict);
    put(tx, "c", 3);
  });
  EXPECT_EQ(items(), "a=1 c=3");
}

TEST_P(StoreSavepoint, NestsAndUndoesTheOuterWithTheInner) {
  db().write("put", [&](Transaction& tx) {
    put(tx, "a", 1);
    EXPECT_THROW(tx.savepoint([&] {
      put(tx, "b", 2);
      tx.savepoint([&] { put(tx, "c", 3); });
      EXPECT_THROW(tx.savepoint([&] {
        put(tx, "d", 4);
        throw Refused("NO", "no");
      }),
                   Refused);
      throw Refused("NO", "no");
    }),
                 Refused);
    tx.savepoint([&] { tx.savepoint([&] { put(tx, "e", 5); }); });
  });
  EXPECT_EQ(items(), "a=1 e=5");
}

class StoreHook : public StoreTest {};
SKALD_ON_EVERY_STORE(StoreHook);

TEST_P(StoreHook, IsRequiredWhereEventsAreEmitted) {
  EXPECT_THROW(db().write("emit",
                          [&](Transaction& tx) {
                            put(tx, "a", 1);
                            tx.emit(event("x"));
                          }),
               Error);
  EXPECT_EQ(items(), "");
}

TEST_P(StoreHook, WritesTheEventsInTheTransactionAndHearsOfItAfterTheCommit) {
  RecordingHook hook;
  hook.db = &db();
  db().set_commit_hook(&hook);
  std::string id;
  db().write("emit", [&](Transaction& tx) {
    put(tx, "a", 1);
    id = tx.emit(event("x"));
    tx.emit(event("y"));
    EXPECT_EQ(hook.log, "");
  });
  EXPECT_EQ(hook.log, "before:xy after:xy ");
  EXPECT_EQ(hook.seen_after, 3) << "durable and visible when it is told";
  EXPECT_TRUE(hook.ids.contains(id));
  EXPECT_EQ(items(), "a=1 x=7 y=7");
  db().set_commit_hook(nullptr);
}

TEST_P(StoreHook, IsLeftAloneWithoutEventsAndWhenTheBodyFails) {
  RecordingHook hook;
  db().set_commit_hook(&hook);
  db().write("quiet", [&](Transaction& tx) { put(tx, "a", 1); });
  EXPECT_THROW(db().write("refused",
                          [&](Transaction& tx) {
                            tx.emit(event("x"));
                            throw Refused("NO", "no");
                          }),
               Refused);
  EXPECT_EQ(hook.log, "");
  db().set_commit_hook(nullptr);
}

TEST_P(StoreTransaction, WhatIsToFollowACommitIsCalledOnceItIsSeenByAll) {
  int called = 0;
  const auto body = [&](Transaction& tx) {
    put(tx, "a", 1);
    tx.after_commit([&] {
      ++called;
      EXPECT_EQ(items(), "a=1");
    });
  };
  EXPECT_THROW(db().write("refused",
                          [&](Transaction& tx) {
                            body(tx);
                            throw Refused("NO", "no");
                          }),
               Refused);
  EXPECT_EQ(called, 0);
  db().write("done", body);
  EXPECT_EQ(called, 1);
}

TEST_P(StoreHook, ThatThrowsUndoesTheTransactionAndHearsNothingAfterwards) {
  RecordingHook hook;
  hook.fails = true;
  db().set_commit_hook(&hook);
  EXPECT_THROW(db().write("emit",
                          [&](Transaction& tx) {
                            put(tx, "a", 1);
                            tx.emit(event("x"));
                          }),
               Refused);
  EXPECT_EQ(hook.log, "before:x ");
  EXPECT_EQ(items(), "");
  db().set_commit_hook(nullptr);
}

TEST_P(StoreHook, OfATransactionThatOnlyEmitsStillWrites) {
  RecordingHook hook;
  db().set_commit_hook(&hook);
  db().write("emit", [&](Transaction& tx) { tx.emit(event("x")); });
  EXPECT_EQ(hook.log, "before:x after:x ");
  EXPECT_EQ(items(), "x=7");
  db().set_commit_hook(nullptr);
}

}  // namespace
}  // namespace skald::test
