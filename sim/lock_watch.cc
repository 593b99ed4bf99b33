#include "sim/lock_watch.h"

#include <algorithm>
#include <set>

#include "sim/signals.h"

namespace skald::sim {
namespace {

using tables::semantic_lock::Row;

constexpr std::size_t kLocksMax = 10'000;

[[noreturn]] void broken(const std::string& text) { throw BrokenInvariant{"I6", text}; }

std::string name_of(const Row& row) { return row.place.resource + " " + row.place.key; }

bool agree(const Row& a, const Row& b) { return a.mode == LockMode::shared && b.mode == LockMode::shared; }

// Whom `row` waits for.
std::vector<const Row*> ahead_of(const std::vector<Row>& rows, const Row& row) {
  std::vector<const Row*> out;
  for (const Row& other : rows) {
    if (other.place != row.place || other.root == row.root || agree(other, row)) continue;
    if (other.granted || other.seq < row.seq) out.push_back(&other);
  }
  return out;
}

}  // namespace

void LockWatch::observe(Transaction& tx) {
  check_shortages(tx);
  const auto rows = tables::semantic_lock::all(tx, kLocksMax);
  if (rows.empty() && before_.empty()) return;
  check_owners(tx);
  check_place(rows);
  check_circles(rows);
  check_kept(tx, rows);
}

void LockWatch::check_owners(Transaction& tx) {
  const Rows orphan = tx.query(
      "SELECT l.root FROM skald_lock l LEFT JOIN skald_saga s ON s.id = l.root WHERE s.id IS NULL OR s.live = 0");
  if (!orphan.empty()) broken("a lock has outlived its saga " + orphan.get<std::string>(0, 0));
}

void LockWatch::check_shortages(Transaction& tx) {
  if (!tx.query("SELECT 1 FROM skald_shortage LIMIT 1").empty()) stage_.markers.hit(Marker::saga_lacked);
  const Rows orphan = tx.query(
      "SELECT l.saga_id FROM skald_shortage l LEFT JOIN skald_saga s ON s.id = l.saga_id WHERE s.id IS NULL OR s.live "
      "= "
      "0 OR s.status = 'COMPENSATING'");
  if (!orphan.empty()) broken("a shortage is told of saga " + orphan.get<std::string>(0, 0) + ", which lacks nothing");
}

void LockWatch::check_place(const std::vector<Row>& rows) const {
  for (const Row& row : rows) {
    if (row.granted) {
      for (const Row& other : rows) {
        if (other.place != row.place || other.root == row.root) continue;
        if (other.granted && !agree(row, other)) broken(name_of(row) + " is held by two at once");
        if (!other.granted && other.seq < row.seq)
          broken("saga " + row.root + " has overtaken " + other.root + ", who waits for " + name_of(row));
      }
    } else if (ahead_of(rows, row).empty()) {
      broken("saga " + row.waiter + " waits for " + name_of(row) + ", which is free");
    }
  }
}

void LockWatch::check_circles(const std::vector<Row>& rows) const {
  std::map<std::string, std::set<std::string>> waits_for;
  for (const Row& row : rows) {
    if (row.granted) continue;
    for (const Row* other : ahead_of(rows, row)) waits_for[row.root].insert(other->root);
  }
  for (const auto& [first, ignored] : waits_for) {
    std::set<std::string> reached;
    std::vector<std::string> next{first};
    while (!next.empty()) {
      const std::string root = std::move(next.back());
      next.pop_back();
      const auto found = waits_for.find(root);
      if (found == waits_for.end()) continue;
      for (const std::string& other : found->second) {
        if (other == first) broken("sagas wait for each other: " + first + " and " + root);
        if (reached.insert(other).second) next.push_back(other);
      }
    }
  }
}

void LockWatch::check_kept(Transaction& tx, const std::vector<Row>& rows) {
  std::map<Name, Row> now;
  for (const Row& row : rows) now.emplace(Name{row.place.resource, row.place.key, row.root}, row);
  for (const auto& [name, row] : now) {
    const auto before = before_.find(name);
    if (!row.granted && before == before_.end()) stage_.markers.hit(Marker::saga_lock_waited);
    if (row.granted && before != before_.end() && !before->second.granted)
      stage_.markers.hit(Marker::saga_lock_granted);
  }
  for (const auto& [name, row] : before_) {
    if (now.contains(name)) continue;
    if (!row.granted) {
      stage_.markers.hit(Marker::saga_lock_timed_out);
      continue;
    }
    // Who turns back at the step that it waited for gives its place back at once, and who
    // begins anew gives all of them back.
    const Rows gone = tx.query(
        "SELECT 1 FROM skald_saga r JOIN skald_saga w ON w.id = $2 WHERE r.id = $1 AND r.live = 1 AND NOT "
        "json_extract(w.progress, '$.undoing') AND NOT (json_extract(w.progress, '$.restarts') > 0 AND "
        "json_extract(w.progress, '$.step') = 0)",
        row.root, row.waiter);
    if (!gone.empty()) broken("saga " + row.root + " goes on and has lost its lock of " + name_of(row));
  }
  before_ = std::move(now);
}

}  // namespace skald::sim
