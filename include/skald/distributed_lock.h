// Permits across processes, by rows of the database: at most N holders of a semaphore
// at a time, or one of a lock. A permit is lent for a lease, counted in database time;
// a dead holder's returns when it runs out.
//
//   Semaphore charges(db, "payment provider", 8, 10s);
//   if (auto permit = charges.try_acquire(saga_id)) { …; charges.release(*permit); }
//
//   auto waiting = charges.wait_for(saga_id, 3s);
//   while (!waiting.permit) { …pause for waiting.again…; waiting = charges.wait_until(saga_id, waiting.deadline); }
//
//   DistributedLock lock(db, "product/lamp", 10s);
//   auto permit = lock.try_acquire(saga_id);
//   db.write("change", [&](Transaction& tx) { lock.check(tx, *permit); …; });
//
// A holder may be stopped for longer than its lease and not know it: what it writes
// must be fenced. check() in the effect's own transaction refuses it, and keeps the
// permit from being lent to another until that transaction has ended. An effect outside
// of the database is handed `fence`, which counts up with every holder of a slot; for a
// lock (one slot) a receiver refuses a lower one than it has seen.
//
// | what happens                          | what the caller sees                              |
// | nothing is free, or others wait first | nullopt; wait_until: a place in the queue          |
// | the deadline has passed               | LockTimeout NO_PERMIT; the place is given up       |
// | a waiter stops asking                 | forgotten after a lease; the next one's turn       |
// | a holder dies                         | its permit is lent again after the lease           |
// | a late holder checks or renews        | Stale LEASE_LOST; false                            |
// | a late holder releases                | nothing: the permit is another's                   |
// | processes name different N            | never more holders than the highest N              |
// | the answer of an acquisition is lost  | CommitUnknown; what was lent returns by its lease  |
//
// None of it waits but for the short transactions of others at the same semaphore.
// Queueing is by order of arrival among those who keep asking. Not reentrant: a holder
// that asks again is one more. Thread safety: all may be called from any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "skald/database.h"

namespace skald {

struct Permit {
  std::string semaphore;
  std::int64_t slot = 0;
  std::int64_t fence = 0;
  Time expires_at{};               // database time
};

class Semaphore {
 public:
  // Invalid BAD_SEMAPHORE: a name of 1 to 200 bytes, 1 to 1000 permits, a lease of 100 ms or more.
  Semaphore(Database& db, std::string name, int permits, Duration lease);

  // Goes past nobody who waits. `holder` is told to people.
  std::optional<Permit> try_acquire(std::string_view holder);

  // Never blocks: the caller asks again after `again`, by wait_until(), which keeps its place.
  // `holder` is its place in the queue: unique among those who wait. The deadline is counted
  // by the database: the clock of a process may differ from it.
  struct Waiting {
    std::optional<Permit> permit;
    Duration again{};
    Time deadline{};               // database time
  };
  Waiting wait_for(std::string_view holder, Duration limit);
  Waiting wait_until(std::string_view holder, Time deadline);
  // Gives a place in the queue up before the deadline.
  void leave(std::string_view holder);

  // A whole lease from now on; false where it has run out, also when nobody else has it.
  bool renew(Permit& permit);
  void release(const Permit& permit);

  // Before anything else in the effect's transaction.
  void check(Transaction& tx, const Permit& permit) const;

 private:
  enum class Place { none, kept };
  std::optional<Permit> acquire(Transaction& tx, std::string_view holder, Place place);
  Waiting wait(Transaction& tx, std::string_view holder, Time deadline);
  Waiting settled(Waiting waiting) const;
  std::optional<std::int64_t> free_slot(Transaction& tx, std::int64_t ahead);

  Database& db_;
  std::string name_;
  int permits_;
  Duration lease_;
};

// A semaphore of one permit: its fence is one for the whole lock.
class DistributedLock : public Semaphore {
 public:
  DistributedLock(Database& db, const std::string& name, Duration lease) : Semaphore(db, "lock/" + name, 1, lease) {}
};

}  // namespace skald
