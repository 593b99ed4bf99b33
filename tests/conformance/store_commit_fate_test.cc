// What became of a COMMIT whose answer was lost, asked of a real server.
#include <atomic>

#include "store/postgres/commit_fate.h"
#include "store_suite.h"

namespace skald::postgres {
namespace {

class CommitFateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    server_ = std::make_unique<test::ScratchPostgres>();
    options_.url = server_->url();
    options_.connections = 2;
    options_.before_statement = [this](std::string_view sql) {
      if (on_pause_ && sql.starts_with("SELECT pg_sleep")) std::exchange(on_pause_, nullptr)();
    };
    pool_ = std::make_unique<Pool>(options_);
  }

  // Sends each and tells what the last one returned.
  static std::string run(Connection& connection, std::initializer_list<const char*> statements) {
    for (const char* sql : statements) connection.add(sql);
    if (const auto failed = connection.exchange()) raise(*failed);
    return std::string(connection.value(statements.size() - 1, 0));
  }
  // An open transaction: its id.
  static std::string open(Connection& connection) {
    return run(connection, {"BEGIN", "SELECT pg_current_xact_id()::text"});
  }
  CommitFate fate(const std::string& id) {
    const std::string run = (*pool_->acquire()).server_run();
    return fate(LostCommit{id, {}, {}, run});
  }
  CommitFate fate(const LostCommit& lost) { return commit_fate(*pool_, {*clock_, *random_, silent_observer()}, lost); }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  std::unique_ptr<test::ScratchPostgres> server_;
  PostgresOptions options_;
  std::function<void()> on_pause_;
  std::unique_ptr<Pool> pool_;
};

TEST_F(CommitFateTest, IsWhatTheServerSays) {
  const Pool::Lease lease = pool_->acquire();
  const std::string committed = open(*lease);
  run(*lease, {"COMMIT"});
  const std::string aborted = open(*lease);
  run(*lease, {"ROLLBACK"});
  EXPECT_EQ(fate(committed), CommitFate::committed);
  EXPECT_EQ(fate(aborted), CommitFate::aborted);
}

// A crashed server gives ids anew that its log does not know: what is said of one may be said
// of another's transaction.
TEST_F(CommitFateTest, IsToldByTheWitnessAloneWhereTheServerHasCrashedMeanwhile) {
  const Pool::Lease lease = pool_->acquire();
  run(*lease, {"CREATE TABLE item (id TEXT PRIMARY KEY)", "INSERT INTO item VALUES ('there')", "SELECT 1"});
  const std::string committed = open(*lease);
  run(*lease, {"COMMIT"});
  const std::string aborted = open(*lease);
  run(*lease, {"ROLLBACK"});
  const auto after_crash = [&](const std::string& id, const Witness& witness) {
    return fate(LostCommit{id, witness, {}, "a run before the crash"});
  };
  const std::string look = "SELECT 1 FROM item WHERE id = $1";
  EXPECT_EQ(after_crash(committed, {}), CommitFate::unknown);
  EXPECT_EQ(after_crash(aborted, {}), CommitFate::aborted);
  EXPECT_EQ(after_crash(committed, {look, "not there"}), CommitFate::aborted);
  EXPECT_EQ(after_crash(committed, {look, "there"}), CommitFate::committed);
}

TEST_F(CommitFateTest, IsWaitedForWhileTheTransactionIsInProgress) {
  const Pool::Lease lease = pool_->acquire();
  const std::string id = open(*lease);
  int pauses = 0;
  on_pause_ = [&] {  // it was seen in progress, and now ends
    ++pauses;
    run(*lease, {"COMMIT"});
  };
  EXPECT_EQ(fate(id), CommitFate::committed);
  EXPECT_EQ(pauses, 1);
}

TEST_F(CommitFateTest, IsToldByTheWitnessOnceTheSessionHasEnded) {
  const Pool::Lease lease = pool_->acquire();
  run(*lease, {"CREATE TABLE item (id TEXT)", "INSERT INTO item VALUES ('there')"});
  const auto fate_of = [&](const char* id) {
    const LostCommit lost{"", {"SELECT 1 FROM item WHERE id = $1", id}, (*lease).session()};
    return commit_fate(*pool_, {*clock_, *random_, silent_observer()}, lost);
  };
  run(*lease, {"BEGIN", "INSERT INTO item VALUES ('open')"});
  EXPECT_EQ(fate_of("open"), CommitFate::aborted) << "it can no longer commit";
  EXPECT_THROW(run(*lease, {"COMMIT"}), Unavailable);
  EXPECT_EQ(fate_of("there"), CommitFate::committed);
}

// Runs a second with each reading, so that waiting ends after a few tries.
struct HastyClock final : Clock {
  Time now() const override { return {}; }
  Instant steady() const override { return Instant(1s * ++readings); }
  mutable std::atomic<int> readings = 0;
};

TEST_F(CommitFateTest, IsUnknownWhereTheServerCannotBeAsked) {
  std::string id;
  {
    const Pool::Lease lease = pool_->acquire();
    id = open(*lease);
    run(*lease, {"COMMIT"});
  }
  server_->drop();
  HastyClock hasty;
  EXPECT_EQ(commit_fate(*pool_, {hasty, *random_, silent_observer()}, {id, {}, {}}), CommitFate::unknown);
  EXPECT_GT(hasty.readings, 5) << "it was asked more than once";
}

}  // namespace
}  // namespace skald::postgres
