#include <fmt/format.h>

#include "isolation/checker/analyses.h"

namespace skald::checker {
namespace {

class LockTable {
 public:
  LockTable(const History& history, Findings& findings)
      : history_(history),
        findings_(findings),
        first_(history.rows, kNone),
        holds_(history.locked.size()),
        of_saga_(history.sagas.size(), kNone) {}

  void take(Index at) {
    const Entry& entry = history_.entries[at];
    const LockMode mode = entry.operation->mode.value_or(LockMode::exclusive);
    Hold& hold = holds_[entry.access];
    if (const Index other = in_the_way(entry, mode); other != kNone) report(at, other);
    if (hold.since == kNone) enter(entry);
    hold.since = at;
    if (mode == LockMode::exclusive) hold.exclusive = true;
  }

  void release(Index access) {
    Hold& hold = holds_[access];
    if (hold.since == kNone) return;
    Index& head = first_[history_.entries[hold.since].row];
    (hold.before == kNone ? head : holds_[hold.before].after) = hold.after;
    if (hold.after != kNone) holds_[hold.after].before = hold.before;
    hold.since = hold.before = hold.after = kNone;
    hold.exclusive = false;
  }

  void end(Index saga) {
    for (Index access = of_saga_[saga]; access != kNone; access = holds_[access].next_of_saga) release(access);
  }

 private:
  // By access. The holders of a row are a list, so that a thousand who share it cost nothing.
  struct Hold {
    Index since = kNone;        // entry
    bool exclusive = false;
    Index before = kNone, after = kNone;
    Index next_of_saga = kNone;
    bool listed = false;        // among its saga's
  };

  void enter(const Entry& entry) {
    Hold& hold = holds_[entry.access];
    Index& head = first_[entry.row];
    hold.after = head;
    if (head != kNone) holds_[head].before = entry.access;
    head = entry.access;
    if (hold.listed) return;
    hold.listed = true;
    hold.next_of_saga = std::exchange(of_saga_[entry.saga], entry.access);
  }

  // A holder that `mode` does not go together with: the latest, which is exclusive where any is,
  // but for those that came over it and were reported.
  Index in_the_way(const Entry& entry, LockMode mode) const {
    Index other = first_[entry.row];
    if (other == entry.access) other = holds_[other].after;
    if (other == kNone) return kNone;
    return mode == LockMode::exclusive || holds_[other].exclusive ? holds_[other].since : kNone;
  }

  void report(Index at, Index other) {
    findings_.add(Anomaly::overlapping_locks, {at, other}, {},
                  fmt::format("{} took the lock of {} while {} held it", findings_.who(at), findings_.row(at),
                              findings_.who(other)));
  }

  const History& history_;
  Findings& findings_;
  std::vector<Index> first_;    // by row: access
  std::vector<Hold> holds_;
  std::vector<Index> of_saga_;  // by saga: access
};

}  // namespace

void check_locks(const History& history, Findings& findings) {
  LockTable table(history, findings);
  for (Index at = 0; at < history.entries.size(); ++at) {
    const Entry& entry = history.entries[at];
    const Kind kind = entry.operation->kind;
    if (kind == Kind::lock && entry.row != kNone) table.take(at);
    else if (kind == Kind::unlock && entry.row != kNone) table.release(entry.access);
    else if (kind == Kind::finish && !ends_part(*entry.operation) && entry.operation->outcome != Outcome::parked)
      table.end(entry.saga);
  }
}

}  // namespace skald::checker
