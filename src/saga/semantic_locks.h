// Taking and giving back the semantic locks that a saga's steps declare.
//
// The first locking step takes all keys that are known by then, sorted by (resource,
// key); a later one that lies before one already held is tried only, so that no two
// sagas can wait for each other; so is a shared one that is wanted exclusively now. What
// the root holds counts for its children, and is theirs. Queues are first come, first served. A lock never
// expires: it goes in the transaction that ends its saga, which grants it to the head
// of the queue.
//
// A saga that ends in the very transaction that took its locks leaves no rows: the
// probe keeps others away until the commit. A child does: its root runs on.
#pragma once

#include <optional>
#include <vector>

#include "saga/instance.h"

namespace skald::saga {

// A function of the user's that says which lock a step needs has thrown; nothing of the database is at fault.
struct LockUnclear {
  std::exception_ptr error;
};

// Another transaction is at one of the places: roll back and come again with `alone`.
struct PlaceTaken {};

struct LockAnswer {
  enum class Kind {
    granted,
    queued,       // wait, unowned
    refused,      // `trouble` says by whom it is held
    out_of_order  // not free, and waiting could deadlock: undo and begin anew
  } kind = Kind::granted;
  std::optional<Trouble> trouble;
};

// For one run of one transaction.
class SemanticLocks {
 public:
  // What the step at `index` needs and the saga does not have; may throw PlaceTaken and LockUnclear.
  LockAnswer take(Transaction& tx, Instance& saga, int index, bool alone);
  // Rows for what was taken in this transaction and not released; where the saga, or its root, goes on.
  void keep(Transaction& tx) const;
  // Everything, at the saga's end; may throw PlaceTaken.
  void release(Transaction& tx, Instance& saga, bool alone);
  // With `alone`, before any step: others at these places are waited for while this
  // transaction holds nothing else that they could want.
  void enter(Transaction& tx, const Instance& saga, int index) const;
  // Where the saga waits no longer.
  void leave_queue(Transaction& tx, Instance& saga);
  // The sagas that can go on because of release() and leave_queue().
  const std::vector<std::string>& woken() const { return woken_; }

 private:
  using Request = tables::semantic_lock::Request;
  using Row = tables::semantic_lock::Row;

  std::vector<Request> wanted(const Instance& saga, int index) const;
  LockAnswer settle_queued(Transaction& tx, Instance& saga);

  void vacate(Transaction& tx, Instance& saga, const std::vector<Row>& rows, const tables::semantic_lock::Place& place);

  std::vector<Row> taken_;  // in this transaction
  std::vector<std::string> woken_;
};

}  // namespace skald::saga
