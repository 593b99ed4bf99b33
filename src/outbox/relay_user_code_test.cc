// Whose failure it is when a transaction fails that runs a handler: docs/decisions/0024.
#include <gmock/gmock.h>

#include "outbox/relay_fixture.h"
#include "store/tables/attempt.h"
#include "store/tables/dead_letter.h"

namespace skald::outbox {
namespace {

constexpr int kOthers = 20;

// Of a "rough" event the handler does what the test says; others are of other keys.
class RelayUserCodeTest : public RelayTest {
 protected:
  using Does = std::function<void(Transaction&)>;

  RelayUserCodeTest() {
    options_.backoff_first = Duration::zero();
    routing_.add(Consumer{.name = "r", .type = "rough", .handle = [this](Transaction& tx, const Message&) {
                            ++runs_;
                            does_(tx);
                          }});
  }

  // Until nothing of it is live; the clock moves on by what the relay waits.
  void drive() {
    for (int i = 0; i < 1000 && live() > 0; ++i) {
      clock_.at += relay_.run_once();
      relay_.wake(~std::uint64_t{0});
    }
  }
  std::int64_t live() {
    return db().read_result([](Transaction& tx) {
      return tx.query("SELECT COUNT(*) FROM skald_outbox WHERE live = 1").get<std::int64_t>(0, 0);
    });
  }
  std::vector<std::string> failed_attempts(const std::string& id) {
    std::vector<std::string> out;
    for (const auto& attempt : db().read_result([&](Transaction& tx) { return tables::attempt::of(tx, id); }))
      out.push_back(attempt.outcome);
    return out;
  }
  void run_among_others(Does does) {
    does_ = std::move(does);
    emit("bad", "rough", "bad");
    for (int i = 0; i < kOthers; ++i) emit("e" + std::to_string(i), "local", "k" + std::to_string(i));
    drive();
  }
  void expect_dead_and_others_handled(Does does) {
    run_among_others(std::move(does));
    EXPECT_EQ(handled(), kOthers);
    EXPECT_EQ(status_of("bad"), EntryStatus::DEAD_LETTER);
    EXPECT_EQ(entry("bad").attempts, 4);
    EXPECT_EQ(failed_attempts("bad"), std::vector<std::string>(4, "RETRY"));
    EXPECT_EQ(relay_.in_hand(), 0u);
  }
  std::int64_t handled() {
    return db().read_result([](Transaction& tx) {
      return tx.query("SELECT COUNT(*) FROM skald_inbox WHERE consumer = 'd'").get<std::int64_t>(0, 0);
    });
  }

  Does does_;
  int runs_ = 0;
};
INSTANTIATE_TEST_SUITE_P(Databases, RelayUserCodeTest, kBothDatabases, name_of);

TEST_P(RelayUserCodeTest, AnEventWhoseHandlerThrowsWhatIsNoExceptionDiesAndNoOtherKeyWaits) {
  expect_dead_and_others_handled([](Transaction&) { throw 42; });
}

TEST_P(RelayUserCodeTest, AnEventWhoseHandlerIsUnavailableDiesAndNoOtherKeyWaits) {
  expect_dead_and_others_handled([](Transaction&) { throw Unavailable("PEER_DOWN", "not now"); });
  EXPECT_LE(runs_, 8) << "in a batch and alone, at each of four attempts";
}

TEST_P(RelayUserCodeTest, SoDoesOneWhoseHandlerCannotTellWhatBecameOfItsOwnCommitElsewhere) {
  expect_dead_and_others_handled([](Transaction&) { throw CommitUnknown("COMMIT_UNKNOWN", "who knows"); });
}

TEST_P(RelayUserCodeTest, SoDoesOneThatTalksOfALostConnection) {
  expect_dead_and_others_handled([](Transaction&) { throw Unavailable("CONNECTION_LOST", "another's"); });
}

TEST_P(RelayUserCodeTest, WhatGetsBetterIsHandledAtItsNextAttempt) {
  run_among_others([this](Transaction&) {
    if (runs_ <= 2) throw Unavailable("PEER_DOWN", "not now");
  });
  EXPECT_EQ(status_of("bad"), EntryStatus::COMPLETED);
  EXPECT_EQ(failed_attempts("bad"), std::vector<std::string>{"RETRY"});
}

TEST_P(RelayUserCodeTest, OneClaimedAfterADeathDiesAloneAsWell) {
  change("UPDATE skald_partition SET fence = fence");
  does_ = [](Transaction&) { throw Unavailable("PEER_DOWN", "not now"); };
  relay_.be_careful(~std::uint64_t{0});
  expect_dead_and_others_handled(does_);
}

TEST_P(RelayUserCodeTest, WhatIsToldOfAnEventsEndStopsNobodyElse) {
  routing_.on_settled("sent", [](Transaction&, const Entry& entry, EntryStatus) {
    if (entry.id == "bad") throw Unavailable("PEER_DOWN", "not now");
  });
  bus_.answers = true;
  emit("bad", "sent", "bad");
  for (int i = 0; i < kOthers; ++i) emit("e" + std::to_string(i), "sent", "k" + std::to_string(i));
  for (int i = 0; i < 200; ++i) clock_.at += relay_.run_once();
  for (int i = 0; i < kOthers; ++i) EXPECT_EQ(status_of("e" + std::to_string(i)), EntryStatus::COMPLETED) << i;
  EXPECT_GE(failed_attempts("bad").size(), 1u);
}

TEST_P(RelayUserCodeTest, AnEventWhoseServiceCannotBearItsEndIsADeadLetterInTheTableAllTheSame) {
  int tells = 0;
  routing_.on_settled("rough", [&](Transaction&, const Entry& entry, EntryStatus status) {
    if (entry.id != "bad" || status != EntryStatus::DEAD_LETTER) return;
    ++tells;
    throw Unavailable("PEER_DOWN", "not now");
  });
  run_among_others([](Transaction&) { throw Refused("NO", "never"); });
  EXPECT_EQ(status_of("bad"), EntryStatus::DEAD_LETTER);
  EXPECT_EQ(tells, 3);
  const auto letter = db().read_result([](Transaction& tx) { return tables::dead_letter::find(tx, "bad"); });
  ASSERT_TRUE(letter);
  EXPECT_THAT(letter->last_error, testing::HasSubstr("could not be told"));
}

TEST_P(RelayUserCodeTest, OneWhoseServiceBearsItAtTheSecondTimeIsTold) {
  int tells = 0;
  std::vector<std::string> told;
  routing_.on_settled("rough", [&](Transaction& tx, const Entry& entry, EntryStatus status) {
    if (entry.id != "bad" || status != EntryStatus::DEAD_LETTER) return;
    if (++tells == 1) throw Unavailable("PEER_DOWN", "not now");
    tx.after_commit([&told, id = entry.id] { told.push_back(id); });
  });
  run_among_others([](Transaction&) { throw Refused("NO", "never"); });
  EXPECT_EQ(status_of("bad"), EntryStatus::DEAD_LETTER);
  EXPECT_EQ(told, std::vector<std::string>{"bad"});
}

// What the server makes of a handler's own statements.
class RelayServerLimitsTest : public RelayUserCodeTest {
 protected:
  std::int64_t pid_of(Transaction& tx) { return tx.query("SELECT pg_backend_pid()").get<std::int64_t>(0, 0); }
  bool lives(std::int64_t pid) {
    return other_->read_result(
        [&](Transaction& tx) { return !tx.query("SELECT 1 FROM pg_stat_activity WHERE pid = $1", pid).empty(); });
  }
  // Says nothing until the server has had enough of it.
  void pause_too_long(Transaction& tx) {
    const std::int64_t pid = pid_of(tx);
    tx.execute("SET LOCAL idle_in_transaction_session_timeout = '1ms'");
    for (int looks = 0; looks < 100'000 && lives(pid); ++looks) {}
    EXPECT_FALSE(lives(pid));
  }
  void kill(std::int64_t pid) {
    other_->write("kill", [&](Transaction& tx) { tx.query("SELECT pg_terminate_backend($1, 5000)", pid); });
  }

  std::unique_ptr<Database> other_ = open_postgres(env_, {.url = database_->address(), .connections = 1});
};
INSTANTIATE_TEST_SUITE_P(Databases, RelayServerLimitsTest, testing::Values(Dialect::postgres), name_of);

TEST_P(RelayServerLimitsTest, AStatementThatTakesTooLongIsItsEventsFailure) {
  expect_dead_and_others_handled([](Transaction& tx) {
    tx.execute("SET LOCAL statement_timeout = '1ms'");
    tx.query("SELECT pg_sleep(60)");
  });
}

TEST_P(RelayServerLimitsTest, SoIsOneThatWasEnqueuedAndFailsBehindItsHandler) {
  expect_dead_and_others_handled([](Transaction& tx) {
    tx.enqueue("SET LOCAL statement_timeout = '1ms'");
    tx.enqueue("SELECT pg_sleep(60)");
  });
}

TEST_P(RelayServerLimitsTest, SoIsOneThatIsSwallowed) {
  expect_dead_and_others_handled([](Transaction& tx) {
    tx.execute("SET LOCAL statement_timeout = '1ms'");
    try {
      tx.query("SELECT pg_sleep(60)");
    } catch (const Unavailable&) {
      tx.on(Dialect::postgres);  // and goes on
    }
  });
}

TEST_P(RelayServerLimitsTest, SoIsOneThatTheServerHasNoRoomFor) {
  expect_dead_and_others_handled(
      [](Transaction& tx) { tx.execute("DO $$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '53100'; END $$"); });
}

TEST_P(RelayServerLimitsTest, SoIsAPauseBeyondTheServersPatience) {
  expect_dead_and_others_handled([this](Transaction& tx) { pause_too_long(tx); });
}

TEST_P(RelayServerLimitsTest, SoIsASessionThatTheHandlerEndsEachTime) {
  expect_dead_and_others_handled([this](Transaction& tx) { kill(pid_of(tx)); });
}

TEST_P(RelayServerLimitsTest, AConnectionThatWasLostOnceCostsNoAttempt) {
  run_among_others([this](Transaction& tx) {
    if (runs_ <= 4) kill(pid_of(tx));  // beyond what the store tries by itself
  });
  EXPECT_EQ(status_of("bad"), EntryStatus::COMPLETED);
  EXPECT_EQ(entry("bad").attempts, 1);
  EXPECT_TRUE(failed_attempts("bad").empty());
  EXPECT_EQ(handled(), kOthers);
}

}  // namespace
}  // namespace skald::outbox
