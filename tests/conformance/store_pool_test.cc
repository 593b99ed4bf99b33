// Who waits for a connection gets it in turn.
#include <gtest/gtest.h>

#include <atomic>
#include <optional>
#include <thread>

#include "store/postgres/pool.h"
#include "support/test_database.h"

namespace skald::postgres {
namespace {

class StorePoolTest : public testing::Test {
 protected:
  PostgresOptions options(Duration acquire_timeout) {
    PostgresOptions out;
    out.url = server_.url();
    out.connections = 1;
    out.acquire_timeout = acquire_timeout;
    return out;
  }

  test::ScratchPostgres server_;
};

TEST_F(StorePoolTest, WhoGivesAConnectionBackDoesNotOvertakeWhoWaits) {
  Pool pool(options(60s));
  std::atomic<bool> served{false};
  std::optional<Pool::Lease> lease(pool.acquire());
  std::jthread waiter([&] {
    const Pool::Lease own = pool.acquire();
    served = true;
  });
  while (pool.waiting() == 0) std::this_thread::yield();
  lease.reset();
  const Pool::Lease again = pool.acquire();
  EXPECT_TRUE(served);
}

TEST_F(StorePoolTest, WhoHasGivenUpWaitingIsHandedNothing) {
  Pool pool(options(1ms));
  {
    const Pool::Lease lease = pool.acquire();
    EXPECT_THROW(pool.acquire(), Unavailable);
    EXPECT_EQ(pool.waiting(), 0u);
  }
  const Pool::Lease next = pool.acquire();
}

}  // namespace
}  // namespace skald::postgres
