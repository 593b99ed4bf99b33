// What only PostgreSQL has: other sessions, a network, announcements.
#include <poll.h>

#include <atomic>
#include <future>
#include <thread>

#include "store_suite.h"

namespace skald::test {
namespace {

class Postgres : public ::testing::Test {
 protected:
  void SetUp() override {
    options_.before_statement = [this](std::string_view sql) {
      std::lock_guard lock(trips_mutex_);
      trips_.emplace_back(sql);
    };
    options_.lock_timeout = 50ms;
    database_ = TestDatabase::postgres(env(), options_);
    other_ = open_postgres(env(), PostgresOptions{.url = database_->address(), .connections = 2});
    db().write("create", [](Transaction& tx) {
      tx.execute("CREATE TABLE item (id TEXT PRIMARY KEY, amount BIGINT NOT NULL)");
      tx.execute("INSERT INTO item VALUES ('a', 0), ('b', 0)");
    });
    forget_trips();
  }

  Env env() { return {*clock_, *random_, silent_observer()}; }
  Database& db() { return **database_; }
  Database& other() { return *other_; }
  std::vector<std::string> trips() {
    std::lock_guard lock(trips_mutex_);
    return trips_;
  }
  void forget_trips() {
    std::lock_guard lock(trips_mutex_);
    trips_.clear();
  }
  int amount(const char* id) {
    return other().read_result(
        [&](Transaction& tx) { return tx.query("SELECT amount FROM item WHERE id = $1", id).get<int>(0, 0); });
  }
  void kill(std::int64_t pid) {
    other().write("kill", [&](Transaction& tx) { tx.query("SELECT pg_terminate_backend($1, 5000)", pid); });
  }
  static std::int64_t pid_of(Transaction& tx) { return tx.query("SELECT pg_backend_pid()").get<std::int64_t>(0, 0); }
  static void add(Transaction& tx, const char* id) {
    tx.execute("UPDATE item SET amount = amount + 1 WHERE id = $1", id);
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  PostgresOptions options_;
  std::mutex trips_mutex_;
  std::vector<std::string> trips_;
  std::unique_ptr<TestDatabase> database_;
  std::unique_ptr<Database> other_;
};

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
    other().end_sessions(std::vector{later});
    add(tx, "a");  // still there: the pid alone is not enough
    other().end_sessions(sessions);
    db().write("take over", [](Transaction& taker) { add(taker, "a"); });
  });
  EXPECT_EQ(amount("a"), 1);
  other().end_sessions(sessions);  // gone already
  other().end_sessions({});
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

TEST_F(Postgres, RefusesTextThatItCannotStore) {
  expect_error<Invalid>(
      "BAD_TEXT", [&] { db().write("zero", [](Transaction& tx) { tx.query("SELECT $1", std::string("a\0b", 3)); }); });
  expect_error<Invalid>("BAD_TEXT",
                        [&] { db().write("bytes", [](Transaction& tx) { tx.query("SELECT $1", "\xff\xfe"); }); });
}

// Waits for the descriptor and drains, until something was heard.
std::vector<int> hear(Listener& listener) {
  for (int i = 0; i < 100; ++i) {
    pollfd ready{listener.fd(), POLLIN, 0};
    poll(&ready, 1, 100);
    if (auto heard = listener.drain(); !heard.empty()) return heard;
  }
  return {};
}

struct NeighbourlyHook final : CommitHook {
  void before_commit(Transaction& tx, std::span<const Event> events) override {
    for (const Event& event : events) tx.enqueue("INSERT INTO item VALUES ($1, 1)", event.key);
  }
  void after_commit(std::span<const Event>) noexcept override { ++untold; }
  std::vector<int> news_for_others(std::span<const Event>) override { return {3, 17}; }
  void after_told_commit(std::span<const Event>, std::span<const int> partitions) noexcept override {
    told.assign(partitions.begin(), partitions.end());
  }
  int untold = 0;
  std::vector<int> told;
};

TEST_F(Postgres, TellsOthersOfALoneCommitBehindItAndOfManyTogether) {
  NeighbourlyHook hook;
  db().set_commit_hook(&hook);
  const auto listener = other().listen();
  hear(*listener);  // all, after LISTEN
  const auto emit = [&](const char* key) {
    db().write("produce", [&](Transaction& tx) {
      tx.emit({.id = "", .type = "t", .key = key, .subject = "", .payload = "{}", .traceparent = ""});
    });
  };
  emit("k1");
  EXPECT_EQ(hook.told, (std::vector<int>{3, 17}));
  EXPECT_EQ(hook.untold, 0);
  EXPECT_EQ(hear(*listener), (std::vector<int>{3, 17}));
  for (int i = 0; hook.untold == 0 && i < 1000; ++i) emit(("m" + std::to_string(i)).c_str());
  EXPECT_EQ(hook.untold, 1) << "one that follows at once is left to the flush";
}

TEST_F(Postgres, ACommitThatFailsTellsNobody) {
  NeighbourlyHook hook;
  db().set_commit_hook(&hook);
  EXPECT_THROW(
      db().write("produce",
                 [&](Transaction& tx) {
                   tx.emit({.id = "", .type = "t", .key = "a", .subject = "", .payload = "{}", .traceparent = ""});
                 }),
      Conflict)
      << "its row is there already";
  EXPECT_TRUE(hook.told.empty());
  EXPECT_EQ(hook.untold, 0);
  db().write("go on", [](Transaction& tx) { add(tx, "b"); });
  EXPECT_EQ(amount("b"), 1) << "the session is as good as before";
}

TEST_F(Postgres, AnnouncesPartitionsToAListenerTogether) {
  const auto listener = other().listen();
  EXPECT_EQ(hear(*listener).size(), static_cast<std::size_t>(kPartitions)) << "all, after LISTEN";
  int woken = 0;
  db().set_announcement_waker([&] { ++woken; });
  db().announce(std::vector{17, 3});
  db().announce(std::vector{3, 63, -1, 64});
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(listener->drain().empty()) << "nothing is sent before the flush";
  EXPECT_TRUE(db().flush_announcements());
  EXPECT_FALSE(db().flush_announcements());
  EXPECT_EQ(hear(*listener), (std::vector{3, 17, 63}));
}

TEST_F(Postgres, ReportsAllPartitionsWhenAListenerHasLostItsConnection) {
  const auto listener = other().listen();
  hear(*listener);
  const int fd = listener->fd();
  other().write("kill listener", [](Transaction& tx) {
    EXPECT_EQ(tx.query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query = 'LISTEN skald' AND "
                       "datname = current_database()")
                  .size(),
              1u);
  });
  EXPECT_EQ(hear(*listener).size(), static_cast<std::size_t>(kPartitions));
  EXPECT_EQ(listener->fd(), fd);
  db().announce(std::vector{5});
  db().flush_announcements();
  EXPECT_EQ(hear(*listener), std::vector{5});
}

TEST_F(Postgres, KeepsAnnouncementsThatCouldNotBeSent) {
  db().announce(std::vector{1});
  db().flush_announcements();
  other().write("kill announcer", [](Transaction& tx) {
    tx.query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE '%pg_notify($1%' AND pid <> "
        "pg_backend_pid()");
  });
  const auto listener = other().listen();
  hear(*listener);
  db().announce(std::vector{2});
  EXPECT_TRUE(db().flush_announcements()) << "on a new connection";
  EXPECT_EQ(hear(*listener), std::vector{2});
}

}  // namespace
}  // namespace skald::test
