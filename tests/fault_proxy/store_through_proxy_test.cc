// The PostgreSQL store through a network that fails: what write() tells is what
// has happened.
#include <gtest/gtest.h>
#include <poll.h>

#include <thread>

#include "fault_proxy/fault_proxy.h"
#include "fault_proxy/postgres_address.h"
#include "interleave/planted.h"
#include "skald/database.h"
#include "store/tables/worker.h"
#include "support/test_database.h"

namespace skald::test {
namespace {

using Direction = FaultProxy::Direction;

// With its end: READ COMMITTED is another thing.
const std::string kCommit("COMMIT", 7);

// Runs a second with each reading, so that patience ends after a few tries.
struct HastyClock final : Clock {
  Time now() const override { return {}; }
  Instant steady() const override { return Instant(1s * ++readings); }
  mutable std::atomic<int> readings = 0;
};

struct StoreThroughProxy : testing::Test {
  void SetUp() override {
    direct->write("create", [](Transaction& tx) { tx.execute("CREATE TABLE item (id TEXT NOT NULL)"); });
  }
  Env env(Clock& by) { return {by, *random, silent_observer()}; }
  std::unique_ptr<Database> open(Clock& by) {
    return open_postgres(env(by), {.url = proxy.postgres_url(server.url()), .connections = 1});
  }
  std::int64_t rows(std::string_view id) {
    return direct->read_result([&](Transaction& tx) {
      return tx.query("SELECT count(*) FROM item WHERE id = $1", id).get<std::int64_t>(0, 0);
    });
  }
  static void put(Transaction& tx, std::string_view id) { tx.execute("INSERT INTO item VALUES ($1)", id); }

  // All of it in one round trip, its COMMIT too.
  static void put_witnessed(Transaction& tx, std::string_view id) {
    tx.witness("SELECT 1 FROM item WHERE id = $1", id);
    tx.enqueue("INSERT INTO item VALUES ($1)", id);
  }

  // It never learns of its id, although its COMMIT has a round trip of its own.
  static void put_witnessed_apart(Transaction& tx, std::string_view id) {
    tx.witness("SELECT 1 FROM item WHERE id = $1", id);
    tx.execute("INSERT INTO item VALUES ($1)", id);
  }

  std::unique_ptr<Clock> clock = system_clock();
  std::unique_ptr<Random> random = system_random();
  ScratchPostgres server;
  const std::pair<std::string, int> address = postgres_address(server.url());
  FaultProxy proxy{address.first, address.second};
  std::unique_ptr<Database> direct = open_postgres(env(*clock), {.url = server.url(), .connections = 1});
  std::unique_ptr<Database> db = open(*clock);
};

TEST_F(StoreThroughProxy, ACommitWhoseAnswerIsLostHappensOnce) {
  int runs = 0;
  proxy.at_message(kCommit, FaultProxy::Fault::lose_answer);
  db->write("lost", [&](Transaction& tx) { ++runs, put(tx, "a"); });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(rows("a"), 1);
  EXPECT_EQ(proxy.cuts(), 1);
}

TEST_F(StoreThroughProxy, ACommitThatNeverArrivedIsRunAgain) {
  int runs = 0;
  proxy.at_message(kCommit, FaultProxy::Fault::swallow);
  db->write("swallowed", [&](Transaction& tx) { ++runs, put(tx, "a"); });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(rows("a"), 1);
}

TEST_F(StoreThroughProxy, ATransactionInOneRoundTripWhoseAnswerIsLostHappensOnce) {
  int runs = 0;
  proxy.at_message(kCommit, FaultProxy::Fault::lose_answer);
  db->write("lost", [&](Transaction& tx) { ++runs, put_witnessed(tx, "a"); });
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(rows("a"), 1);
  EXPECT_EQ(proxy.cuts(), 1);
}

TEST_F(StoreThroughProxy, ATransactionInOneRoundTripThatNeverArrivedIsRunAgain) {
  int runs = 0;
  proxy.at_message(kCommit, FaultProxy::Fault::swallow);
  db->write("swallowed", [&](Transaction& tx) { ++runs, put_witnessed(tx, "a"); });
  EXPECT_EQ(runs, 2);
  EXPECT_EQ(rows("a"), 1);
}

TEST_F(StoreThroughProxy, AServerThatKeepsSilentIsGivenUp) {
  db = open_postgres(env(*clock), {.url = proxy.postgres_url(server.url()),
                                   .connections = 1,
                                   .statement_timeout = 200ms,
                                   .silence_beyond_statement = 100ms});
  proxy.hold(Direction::to_client);
  EXPECT_THROW(db->write("silent", [&](Transaction& tx) { put(tx, "a"); }), Unavailable);
  proxy.release(Direction::to_client);
}

TEST_F(StoreThroughProxy, ThePlantedGuessAtALostCommitHasTwoEffects) {
  const Planted bug(seam::Rule::commit_unknown_resolved);
  proxy.at_message(kCommit, FaultProxy::Fault::lose_answer);
  db->write("lost", [&](Transaction& tx) { put(tx, "a"); });
  EXPECT_EQ(rows("a"), 2);
}

TEST_F(StoreThroughProxy, EventsOfACommitWhoseAnswerIsLostAreAnnounced) {
  struct Hook final : CommitHook {
    void before_commit(Transaction& tx, std::span<const Event> events) override {
      for (const Event& event : events) tx.enqueue("INSERT INTO item VALUES ($1)", event.id);
    }
    void after_commit(std::span<const Event> events) noexcept override { announced += events.size(); }
    std::size_t announced = 0;
  } hook;
  db->set_commit_hook(&hook);
  proxy.at_message(kCommit, FaultProxy::Fault::lose_answer);
  db->write("lost", [&](Transaction& tx) {
    tx.emit({.id = "e", .type = "t", .key = "k", .subject = "", .payload = "{}", .traceparent = ""});
    tx.query("SELECT 1");
  });
  EXPECT_EQ(rows("e"), 1);
  EXPECT_EQ(hook.announced, 1u);
}

// A connection, a transaction, and its end: cut at every seventh byte.
struct Cut {
  Direction direction;
  void (*put)(Transaction& tx, std::string_view id);
  const char* name;
};
class CutAt : public StoreThroughProxy, public testing::WithParamInterface<Cut> {
 public:
  static std::vector<Cut> all() {
    return {{Direction::to_server, &put, "to_the_server"},
            {Direction::to_client, &put, "to_the_client"},
            {Direction::to_server, &put_witnessed, "to_the_server_in_one_round_trip"},
            {Direction::to_client, &put_witnessed, "to_the_client_in_one_round_trip"},
            {Direction::to_server, &put_witnessed_apart, "to_the_server_with_a_witness"},
            {Direction::to_client, &put_witnessed_apart, "to_the_client_with_a_witness"}};
  }
};

TEST_P(CutAt, EveryPlaceOfATransactionLeavesWhatWriteTold) {
  const auto [direction, put_by, name] = GetParam();
  const auto conversation = [&] {
    const std::uint64_t before = proxy.passed(direction);
    proxy.cut_all();
    db->write("measured", [&](Transaction& tx) { put_by(tx, "measured"); });
    return proxy.passed(direction) - before;
  }();
  ASSERT_GT(conversation, 200u);
  int returned = 0, threw = 0;
  for (std::uint64_t offset = 0; offset < conversation; offset += 7) {
    const std::string id = std::to_string(10'000'000 + offset);  // as long as the measured one
    proxy.cut_all();
    const int cuts = proxy.cuts();
    proxy.cut_after(direction, offset);
    bool told = true;
    try {
      db->write("swept", [&](Transaction& tx) { put_by(tx, id); });
      ++returned;
    } catch (const Unavailable&) {
      told = false;
      ++threw;
    }
    ASSERT_EQ(proxy.cuts(), cuts + 1) << "nothing was cut after " << offset << " bytes";
    ASSERT_EQ(rows(id), told ? 1 : 0) << "cut after " << offset << " of " << conversation << " bytes";
  }
  EXPECT_GT(returned, 10);
  EXPECT_GT(threw, 0) << "a connect that fails is told";
}

INSTANTIATE_TEST_SUITE_P(Ways, CutAt, testing::ValuesIn(CutAt::all()),
                         [](const auto& each) { return std::string(each.param.name); });

TEST_F(StoreThroughProxy, AnUnreachableServerIsUnavailableAndComesBack) {
  proxy.cut_all();
  proxy.refuse(true);
  EXPECT_THROW(db->write("away", [](Transaction& tx) { put(tx, "a"); }), Unavailable);
  EXPECT_THROW(db->read([](Transaction& tx) { tx.query("SELECT 1"); }), Unavailable);
  proxy.refuse(false);
  db->write("back", [](Transaction& tx) { put(tx, "a"); });
  EXPECT_EQ(rows("a"), 1);
}

TEST_F(StoreThroughProxy, ALostCommitThatNobodyCanBeAskedAboutIsUnknown) {
  HastyClock hasty;
  db = open(hasty);
  proxy.at_message(kCommit, FaultProxy::Fault::lose_answer);
  EXPECT_THROW(db->write("lost",
                         [&](Transaction& tx) {
                           put(tx, "a");
                           proxy.refuse(true);
                         }),
               CommitUnknown);
  EXPECT_EQ(rows("a"), 1);
}

TEST_F(StoreThroughProxy, ACommitUnderWayIsWaitedForNotGuessed) {
  // A deferred trigger makes the COMMIT wait for a lock that the test holds.
  direct->write("slow commit", [](Transaction& tx) {
    tx.execute(
        "CREATE FUNCTION wait() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NULL; END'");
    tx.execute(
        "CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON item DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION wait()");
  });
  int runs = 0;
  std::thread writer;
  direct->write("hold", [&](Transaction& tx) {
    tx.query("SELECT pg_advisory_xact_lock(1)");
    writer = std::thread([&] { db->write("slow", [&](Transaction& slow) { ++runs, put(slow, "a"); }); });
    const char* waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted";
    while (tx.query(waiting).get<int>(0, 0) == 0) {}
    proxy.cut_all();  // while the server is in the middle of the COMMIT
    const char* asking =
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%pg_xact_status($1%' AND pid <> pg_backend_pid()";
    while (tx.query("SELECT pg_stat_clear_snapshot()"), tx.query(asking).get<int>(0, 0) == 0) {}
  });
  writer.join();
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(rows("a"), 1);
}

// Waits for the descriptor and drains, until something was heard.
std::size_t hear(Listener& listener) {
  for (int i = 0; i < 200; ++i) {
    pollfd ready{listener.fd(), POLLIN, 0};
    ::poll(&ready, 1, 50);
    if (const auto heard = listener.drain(); !heard.partitions.empty()) return heard.partitions.size();
  }
  return 0;
}

TEST_F(StoreThroughProxy, AListenerComesBackAfterACutAndReportsAllPartitionsAndThatWorkersMayHaveChanged) {
  constexpr std::size_t kAll = tables::worker::kChanged + 1;
  const auto listener = db->listen();
  EXPECT_EQ(hear(*listener), kAll);
  proxy.cut_all();
  EXPECT_EQ(hear(*listener), kAll);
  proxy.refuse(true);
  proxy.cut_all();
  const int before = proxy.connections();
  while (proxy.connections() < before + 2) EXPECT_TRUE(listener->drain().partitions.empty());
  proxy.refuse(false);
  EXPECT_EQ(hear(*listener), kAll);
  direct->announce(std::vector{5});
  direct->flush_announcements();
  EXPECT_EQ(hear(*listener), 1u);
}

}  // namespace
}  // namespace skald::test
