// A bounded set of connections, opened when first needed, given out in the order in
// which they are asked for. Thread safe.
#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "store/postgres/connection.h"

namespace skald::postgres {

class Pool {
 public:
  // Opens one connection, so that a wrong address shows at once. Throws
  // Unavailable (CONNECT_FAILED) or Invalid (BAD_DATABASE_URL).
  explicit Pool(const PostgresOptions& options) : Pool(options, ConnectSettings(options)) {}
  Pool(const PostgresOptions& options, ConnectSettings settings);

  // A connection for one owner, given back at its end; a broken one is closed.
  class Lease {
   public:
    Lease(Pool& pool, std::size_t slot) : pool_(&pool), slot_(slot) {}
    Lease(Lease&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)), slot_(other.slot_) {}
    Lease& operator=(Lease&&) = delete;
    ~Lease() {
      if (pool_ != nullptr) pool_->release(slot_);
    }
    Connection& operator*() const { return *pool_->slots_[slot_].connection; }

   private:
    Pool* pool_;
    std::size_t slot_;
  };

  // Waits for a free connection, and opens it again where the server has gone, or is no longer the primary.
  // Throws Unavailable: POOL_EXHAUSTED after the acquire timeout, CONNECT_FAILED.
  Lease acquire();

  // Returns after `patience`, or earlier when a connection was given back. For
  // those who wait for the server to come back.
  void wait_for_change(Duration patience);

  // Ends the sessions with a primary that has been replaced since: it may be stopped and keep their sockets open.
  void leave_old_primary();

  // How many wait for a connection.
  std::size_t waiting() const;
  std::vector<Database::Session> sessions() const;

 private:
  // What others may know of a connection.
  struct Open {
    Database::Session session;
    Timeline timeline;
    std::shared_ptr<const SessionSocket> socket;
  };
  struct Slot {
    std::unique_ptr<Connection> connection;  // touched only by who holds the slot
    std::optional<Open> open;
  };

  // Is handed its slot by who gives one back: were it only woken, the one who gives
  // back would mostly be the next to take, and some would wait for very long.
  struct Waiter {
    std::condition_variable told;
    std::optional<std::size_t> slot;
  };

  std::size_t take_slot();
  void prepare(Slot& slot);
  void release(std::size_t slot);

  const PostgresOptions options_;
  const ConnectSettings settings_;
  mutable std::mutex mutex_;         // guards free_, waiting_ and what is open in slots_
  std::condition_variable changed_;
  std::deque<Waiter*> waiting_;
  std::vector<Slot> slots_;
  std::vector<std::size_t> free_;    // the last given back is used first
};

}  // namespace skald::postgres
