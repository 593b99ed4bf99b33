// How a URL leads to PostgreSQL: to one that may be written to, past a pooler where there is one.
#include <cstdlib>

#include "store_suite.h"

namespace skald::test {
namespace {

class PostgresRoutes : public ::testing::Test {
 protected:
  std::unique_ptr<Database> open(PostgresOptions options) { return open_postgres(env_, std::move(options)); }
  std::string refusal_of(PostgresOptions options) {
    try {
      open(std::move(options));
      return "";
    } catch (const Invalid& error) {
      return error.code();
    }
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  ScratchPostgres server_;
};

TEST_F(PostgresRoutes, ToAStandbyAreRefused) {
  EXPECT_EQ(refusal_of({.url = server_.url() + "?target_session_attrs=prefer-standby"}), "BAD_DATABASE_URL");
  EXPECT_EQ(refusal_of({.url = server_.url() + "?target_session_attrs=read-write"}), "");
}

TEST_F(PostgresRoutes, OfTransactionsAndOfSessionsLeadToOneDatabase) {
  const ScratchPostgres other;
  EXPECT_EQ(refusal_of({.url = server_.url(), .listen_url = other.url()}), "BAD_LISTEN_URL");
  EXPECT_EQ(refusal_of({.url = server_.url(), .listen_url = server_.url()}), "");
}

TEST_F(PostgresRoutes, TryTheNextHostWhereOneDoesNotAnswer) {
  std::string url = server_.url();
  url.insert(url.find('@') + 1, "127.0.0.1:1,");
  const auto db = open({.url = url});
  EXPECT_EQ(db->query_alone("SELECT 7").get<int>(0, 0), 7);
}

// A primary does not become a standby under an open session, but a server behind a pooler may.
TEST_F(PostgresRoutes, ThatNoLongerTakeWritesAreAnOutageAndNotTheCallersFault) {
  const auto db = open({.url = server_.url()});
  int runs = 0;
  try {
    db->write("demoted", [&](Transaction& tx) {
      ++runs;
      tx.execute("SET LOCAL transaction_read_only = on");
      tx.execute("CREATE TABLE item (id TEXT)");
    });
    FAIL();
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.code(), "CONNECTION_LOST");
  }
  EXPECT_GT(runs, 1) << "another session may be with the new primary";
}

TEST_F(PostgresRoutes, ThroughAPoolerNeedAnotherPastIt) {
  const char* pooler = std::getenv("SKALD_TEST_PGBOUNCER");
  if (pooler == nullptr) return;  // the test store_pgbouncer has one
  std::string url = server_.url();
  const std::size_t begin = url.find('@') + 1;
  url.replace(begin, url.find('/', begin) - begin, pooler);
  EXPECT_EQ(refusal_of({.url = url}), "POOLER_IN_FRONT");
  EXPECT_EQ(refusal_of({.url = url, .listen_url = url}), "POOLER_IN_FRONT");
  EXPECT_EQ(refusal_of({.url = url, .listen_url = server_.url()}), "");
}

}  // namespace
}  // namespace skald::test
