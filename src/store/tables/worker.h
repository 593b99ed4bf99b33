// skald_worker: the processes that work on a database. A worker lives as long as
// its beat changes; its id is new at every start, and after it was taken for dead.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "skald/database.h"
#include "store/tables/subscriber.h"

namespace skald::tables::worker {

// Announced (Database::announce) like a partition: a worker has come or gone, or a partition is nobody's. Who hears it
// beats at once. Programs before it do not know the number, and pass over it.
inline constexpr int kChanged = kPartitions;

struct Worker {
  std::string id, host;
  std::int64_t pid = 0;
  Time started_at{};
  std::int64_t beat = 0;
  Time beat_at{};
  std::string sessions;   // JSON: the database sessions that must end before a take-over
};

void insert(Transaction& tx, const Worker& worker);
void remove(Transaction& tx, std::string_view id);
// Where it has not beaten since then; false: it has, or is gone.
bool remove_silent(Transaction& tx, std::string_view id, std::int64_t beat);
// Whether the worker still counts; if so, nobody can remove it before the end of
// the transaction. Ownership is only written under this: a partition of a worker
// that is gone would be nobody's to take over.
bool hold(Transaction& tx, std::string_view id);
std::vector<Worker> all(Transaction& tx);
// Of these sessions (as in a row), but for this transaction's own: the server ends them soon. Nothing on SQLite.
void end_other_sessions(Transaction& tx, std::string_view sessions);

// One statement and one transaction: counts the beat up and sees the others, the partitions, which of one's own have
// something live or owed, and the subscribers.
struct Pulse {
  std::optional<Duration> saga_due_in;             // an unowned one; below zero: it is due
  bool sagas_adrift = false;                       // some belong to a worker that is gone
  bool alive = false;                              // the own row was still there
  std::vector<std::pair<std::string, std::int64_t>> beats;
  std::uint64_t live = 0;                          // a bit per own partition
  std::uint64_t owed = 0;                          // the same, of what is owed to `known` subscribers
  std::vector<subscriber::Row> subscribers;
  bool partitions_changed = false;                 // others than `owned` are mine, or some are nobody's
};
Pulse beat(Database& db, std::string_view id, std::string_view sessions, std::uint64_t owned,
           std::span<const subscriber::Row> known);

}  // namespace skald::tables::worker
