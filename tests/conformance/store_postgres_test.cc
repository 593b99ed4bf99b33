// What only PostgreSQL has: other sessions, a network.
#include <atomic>
#include <future>
#include <thread>

#include "store_postgres_fixture.h"

namespace skald::test {
namespace {

struct EnqueueingHook final : CommitHook {
  void before_commit(Transaction& tx, std::span<const Event> events) override {
    for (const Event& event : events) tx.enqueue("INSERT INTO item VALUES ($1, 1)", event.key);
  }
  void after_commit(std::span<const Event>) noexcept override {}
};

TEST_F(Postgres, CommitsAProducersTransactionInTwoRoundTrips) {
  EnqueueingHook hook;
  db().set_commit_hook(&hook);
  db().write("produce", [&](Transaction& tx) {
    add(tx, "a");
    tx.enqueue("UPDATE item SET amount = 5 WHERE id = 'b'");
    tx.emit({.id = "", .type = "t", .key = "k", .subject = "", .payload = "{}", .traceparent = ""});
  });
  ASSERT_EQ(trips().size(), 2u);
  EXPECT_TRUE(trips()[0].starts_with("BEGIN ")) << trips()[0];
  EXPECT_TRUE(trips()[0].ends_with("UPDATE item SET amount = amount + 1 WHERE id = $1")) << trips()[0];
  EXPECT_EQ(trips()[1], "UPDATE item SET amount = 5 WHERE id = 'b'; INSERT INTO item VALUES ($1, 1); COMMIT");
}

TEST_F(Postgres, AsksForItsIdAndTheTimeOnlyWhereItHasNoWitness) {
  const auto insert = [](Transaction& tx, const char* id) {
    tx.witness("SELECT 1 FROM item WHERE id = $1", id);
    tx.enqueue("INSERT INTO item VALUES ($1, 1)", id);
  };
  db().write("all at once", [&](Transaction& tx) { insert(tx, "c"); });
  ASSERT_EQ(trips().size(), 1u);
  EXPECT_EQ(trips()[0], "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE; INSERT INTO item VALUES ($1, 1); COMMIT");
  db().write("with the time", [&](Transaction& tx) {
    insert(tx, "d");
    tx.query("SELECT 1");
    EXPECT_GT(to_micros(tx.now()), 1'500'000'000'000'000);
    EXPECT_EQ(tx.now(), tx.now());
  });
  EXPECT_EQ(trips().size(), 4u) << "the insert and the question, the time, and COMMIT";
  db().write("nothing", [](Transaction& tx) { tx.witness("SELECT 1 FROM item WHERE id = $1", "e"); });
  EXPECT_EQ(trips().size(), 4u);
}

TEST_F(Postgres, SpendsNoRoundTripOnATransactionThatAskedForNothing) {
  db().write("nothing", [](Transaction&) {});
  EXPECT_THROW(db().write("refused",
                          [](Transaction& tx) {
                            tx.enqueue("UPDATE item SET amount = 9");
                            throw Refused("NO", "no");
                          }),
               Refused);
  db().read([](Transaction&) {});
  EXPECT_TRUE(trips().empty());
}

TEST_F(Postgres, KnowsItsTransactionIdBeforeItSendsCommit) {
  db().write("enqueued only", [](Transaction& tx) { tx.enqueue("UPDATE item SET amount = 9"); });
  ASSERT_EQ(trips().size(), 2u);
  EXPECT_EQ(trips()[1], "COMMIT");
}

TEST_F(Postgres, KeepsEnginesThatShareADatabaseApartBySchema) {
  const Migration step[] = {{.version = 1, .name = "n", .sql = "CREATE TABLE n (id BIGINT)", .postgres_sql = ""}};
  const auto open = [&](const std::string& schema) {
    return open_postgres(env(), {.url = database_->address(), .schema = schema, .connections = 2});
  };
  const auto left = open("left"), right = open("right_side");
  left->migrate("n", step);
  right->migrate("n", step);
  left->write("insert", [](Transaction& tx) { tx.execute("INSERT INTO n VALUES (1)"); });
  const auto count = [](Transaction& tx) { return tx.query("SELECT COUNT(*) FROM n").get<int>(0, 0); };
  EXPECT_EQ(left->read_result(count), 1);
  EXPECT_EQ(right->read_result(count), 0);
  EXPECT_THROW(open("x; DROP TABLE n"), Invalid);
}

TEST_F(Postgres, GivesUpOnALockedRowAfterTheLockTimeout) {
  other().write("hold", [&](Transaction& holder) {
    holder.query("SELECT id FROM item WHERE id = 'a' FOR UPDATE");
    expect_error<LockTimeout>("LOCK_TIMEOUT", [&] {
      db().write("wait", [](Transaction& tx) {
        add(tx, "b");
        tx.query("SELECT id FROM item WHERE id = 'a' FOR UPDATE");
      });
    });
  });
  EXPECT_EQ(amount("b"), 0);
}

TEST_F(Postgres, GoesOnAfterALockTimeoutInsideOfASavepoint) {
  other().write("hold", [&](Transaction& holder) {
    holder.query("SELECT id FROM item WHERE id = 'a' FOR UPDATE");
    db().write("try", [](Transaction& tx) {
      add(tx, "b");
      EXPECT_THROW(tx.savepoint([&] { add(tx, "a"); }), LockTimeout);
      add(tx, "b");
    });
  });
  EXPECT_EQ(amount("a"), 0);
  EXPECT_EQ(amount("b"), 2);
}

TEST_F(Postgres, DoesNotTakeAnEarlierFailureForTheSavepoints) {
  expect_error<Conflict>("UNIQUE_VIOLATION", [&] {
    db().write("early", [](Transaction& tx) {
      tx.query("SELECT 1");
      tx.enqueue("INSERT INTO item VALUES ('a', 1)");
      EXPECT_THROW(tx.savepoint([&] { add(tx, "b"); }), Conflict);
    });
  });
  EXPECT_EQ(amount("b"), 0);
}

TEST_F(Postgres, DoesNotCommitAfterAFailureThatTheBodySwallowed) {
  expect_error<Conflict>("UNIQUE_VIOLATION", [&] {
    db().write("swallow", [](Transaction& tx) {
      add(tx, "b");
      EXPECT_THROW(tx.execute("INSERT INTO item VALUES ('a', 1)"), Conflict);
      EXPECT_THROW(add(tx, "b"), Conflict);
    });
  });
  EXPECT_EQ(amount("b"), 0);
}

TEST_F(Postgres, RefusesWhatWouldOutliveTheTransactionInItsSession) {
  for (const char* sql : {"SET lock_timeout = 0", "set session statement_timeout = 0", "RESET ALL", "DISCARD ALL",
                          "DEALLOCATE ALL", "LISTEN x"})
    expect_error<Error>("TRANSACTION_CONTROL",
                        [&] { db().write("control", [&](Transaction& tx) { tx.execute(sql); }); });
  db().write("local", [](Transaction& tx) { tx.execute("set local lock_timeout = 0"); });
}

TEST_F(Postgres, RunsBothBodiesOfADeadlock) {
  PostgresOptions options{.url = database_->address(), .connections = 2};
  const auto patient = open_postgres(env(), options);
  std::atomic<int> runs = 0;
  std::promise<void> first_locked[2];
  const auto cross = [&](int me, const char* mine, const char* theirs) {
    bool first_run = true;
    patient->write("cross", [&](Transaction& tx) {
      ++runs;
      add(tx, mine);
      if (std::exchange(first_run, false)) {
        first_locked[me].set_value();
        first_locked[1 - me].get_future().wait();
      }
      add(tx, theirs);
    });
  };
  std::thread thread([&] { cross(0, "a", "b"); });
  cross(1, "b", "a");
  thread.join();
  EXPECT_GE(runs, 3);  // the victim may meet the other once more
  EXPECT_EQ(amount("a"), 2);
  EXPECT_EQ(amount("b"), 2);
}

TEST_F(Postgres, GivesUpOnABodyThatDeadlocksEveryTime) {
  int runs = 0;
  expect_error<Unavailable>("TRANSACTION_ROLLED_BACK", [&] {
    db().write("never", [&](Transaction& tx) {
      ++runs;
      tx.execute("DO $$ BEGIN RAISE EXCEPTION 'again' USING ERRCODE = '40001'; END $$");
    });
  });
  EXPECT_EQ(runs, 11);
}

TEST_F(Postgres, RunsABodyAgainWhoseConnectionIsLostAndCommitsItOnce) {
  int runs = 0;
  db().write("lost", [&](Transaction& tx) {
    const auto pid = pid_of(tx);
    add(tx, "a");
    if (++runs == 1) kill(pid);
    add(tx, "b");
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(amount("a"), 1);
  EXPECT_EQ(amount("b"), 1);
}

TEST_F(Postgres, RunsABodyAgainEvenWhereItSwallowedTheLoss) {
  int runs = 0;
  db().write("swallow", [&](Transaction& tx) {
    const auto pid = pid_of(tx);
    if (++runs == 1) kill(pid);
    try {
      add(tx, "a");
    } catch (const Error&) {}
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(amount("a"), 1);
}

TEST_F(Postgres, AsksWhatBecameOfACommitThatCouldNotBeSent) {
  int runs = 0;
  db().write("late", [&](Transaction& tx) {
    add(tx, "a");
    const auto pid = pid_of(tx);
    if (++runs == 1) kill(pid);
  });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(amount("a"), 1);
}

TEST_F(Postgres, GivesUpOnABodyThatLosesItsConnectionEveryTime) {
  int runs = 0;
  expect_error<Unavailable>("CONNECTION_LOST", [&] {
    db().write("cursed", [&](Transaction& tx) {
      ++runs;
      kill(pid_of(tx));
      add(tx, "a");
    });
  });
  EXPECT_EQ(runs, 4);
  EXPECT_EQ(amount("a"), 0);
}

TEST_F(Postgres, RunsAReadAgainWhoseConnectionIsLost) {
  int runs = 0;
  db().read([&](Transaction& tx) {
    const auto pid = pid_of(tx);
    if (++runs == 1) kill(pid);
    tx.query("SELECT 1");
  });
  EXPECT_EQ(runs, 2);
}

TEST_F(Postgres, ReplacesConnectionsThatDiedWhileIdle) {
  db().read([](Transaction& tx) { tx.query("SELECT 1"); });
  const auto before = db().sessions();
  ASSERT_EQ(before.size(), 1u);
  kill(before[0].pid);
  int runs = 0;
  db().write("next", [&](Transaction& tx) {
    ++runs;
    add(tx, "a");
  });
  EXPECT_EQ(runs, 1);
  EXPECT_NE(db().sessions(), before);
}

TEST_F(Postgres, SaysThatAllConnectionsAreInUse) {
  const auto small = open_postgres(env(), {.url = database_->address(), .connections = 1, .acquire_timeout = 20ms});
  small->write("hold", [&](Transaction& tx) {
    tx.query("SELECT 1");
    std::thread([&] { expect_error<Unavailable>("POOL_EXHAUSTED", [&] { small->read([](Transaction&) {}); }); }).join();
  });
}

TEST_F(Postgres, SaysThatItCannotConnectWithoutTellingThePassword) {
  const std::string text = expect_error<Unavailable>(
      "CONNECT_FAILED", [&] { open_postgres(env(), {.url = "postgresql://nobody:secret@127.0.0.1:1/none"}); });
  EXPECT_EQ(text.find("secret"), std::string::npos);
  const std::string bad =
      expect_error<Invalid>("BAD_DATABASE_URL", [&] { open_postgres(env(), {.url = "nobody:secret"}); });
  EXPECT_EQ(bad.find("secret"), std::string::npos);
}

TEST_F(Postgres, EndsTheSessionsOfAStoppedProgramAndFreesItsLocks) {
  const auto stopped = open_postgres(env(), {.url = database_->address(), .connections = 1});
  const auto sessions = stopped->sessions();
  ASSERT_EQ(sessions.size(), 1u);
  int runs = 0;
  stopped->write("stuck", [&](Transaction& tx) {
    if (++runs > 1) return;
    add(tx, "a");
    Database::Session later = sessions[0];
    later.started = "1";
    EXPECT_TRUE(other().end_sessions(std::vector{later}));
    add(tx, "a");  // still there: the pid alone is not enough
    while (!other().end_sessions(sessions)) {}
    db().write("take over", [](Transaction& taker) { add(taker, "a"); });
  });
  EXPECT_EQ(amount("a"), 1);
  EXPECT_TRUE(other().end_sessions(sessions)) << "gone already";
  EXPECT_TRUE(other().end_sessions({}));
}

TEST_F(Postgres, PassesArraysAsParameters) {
  db().write("arrays", [](Transaction& tx) {
    const std::vector<std::string> ids = {"x", "it's \"y\" \\ {,}", "NULL", ""};
    const std::vector<std::int64_t> amounts = {1, -2, 3, 4};
    tx.execute("INSERT INTO item SELECT * FROM unnest($1::text[], $2::bigint[])", ids, amounts);
    EXPECT_EQ(tx.query("SELECT id FROM item WHERE id = ANY($1) AND amount = ANY($2)", ids, amounts).size(), 4u);
    EXPECT_EQ(tx.query("SELECT id FROM item WHERE id = ANY($1)", std::vector<std::string>{}).size(), 0u);
  });
}

TEST_F(Postgres, PlansAStatementAnewThatWasPlannedForASmallTable) {
  const auto one = open_postgres(env(), {.url = database_->address(), .connections = 1});
  one->write("create", [](Transaction& tx) {
    tx.execute("CREATE TABLE grown (id TEXT PRIMARY KEY) WITH (autovacuum_enabled = false)");
    tx.execute("INSERT INTO grown VALUES ('a'), ('b'), ('c')");
    tx.execute("ANALYZE grown");
  });
  const std::vector<std::string> ids = {"a", "c"};
  const auto scans = [](Transaction& tx) {  // of this session, not reported yet
    const Rows rows = tx.query("SELECT seq_scan FROM pg_stat_xact_user_tables WHERE relname = 'grown'");
    return rows.get<std::int64_t>(0, 0);
  };
  const auto reads_all_of_it = [&] {
    return one->read_result([&](Transaction& tx) {
      const auto before = scans(tx);
      tx.query("SELECT id FROM grown WHERE id = ANY($1)", ids);
      return scans(tx) > before;
    });
  };
  for (int i = 0; i < 20; ++i) reads_all_of_it();  // the plan is kept by now
  one->write("fill",
             [](Transaction& tx) { tx.execute("INSERT INTO grown SELECT i::text FROM generate_series(1, 50000) i"); });
  ASSERT_TRUE(reads_all_of_it()) << "else this test can tell nothing";
  for (int i = 0; i < 64; ++i) reads_all_of_it();
  EXPECT_FALSE(reads_all_of_it());
}

TEST_F(Postgres, RefusesTextThatItCannotStore) {
  expect_error<Invalid>(
      "BAD_TEXT", [&] { db().write("zero", [](Transaction& tx) { tx.query("SELECT $1", std::string("a\0b", 3)); }); });
  expect_error<Invalid>("BAD_TEXT",
                        [&] { db().write("bytes", [](Transaction& tx) { tx.query("SELECT $1", "\xff\xfe"); }); });
}

}  // namespace
}  // namespace skald::test
