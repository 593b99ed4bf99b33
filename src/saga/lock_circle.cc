#include "saga/lock_circle.h"

#include <algorithm>
#include <set>

namespace skald::saga {
namespace {

namespace table = tables::semantic_lock;

constexpr std::size_t kRootsMax = 1000;  // more are no circle that this finds in time

bool extend(Transaction& tx, std::vector<std::string>& path, std::set<std::string>& seen) {
  for (std::string& next : table::waiting_holders(tx, path.back())) {
    if (next == path.front()) return true;
    if (seen.size() >= kRootsMax || !seen.insert(next).second) continue;
    path.push_back(std::move(next));
    if (extend(tx, path, seen)) return true;
    path.pop_back();
  }
  return false;
}

}  // namespace

bool could_close_circle(const Instance& saga) {
  const bool holds = !saga.progress.locks.empty() || saga.row.root != saga.row.id;  // a child: what its root has
  return saga.progress.queued && holds;
}

std::vector<std::string> circle_through(Transaction& tx, const std::string& root) {
  std::vector<std::string> path{root};
  std::set<std::string> seen{root};
  if (!extend(tx, path, seen)) path.clear();
  return path;
}

std::string break_circle(Transaction& tx, const std::vector<std::string>& circle) {
  const std::string youngest = std::ranges::max(circle);  // ids grow with time
  const auto waiter = table::waiter_of(tx, youngest);
  auto row = waiter ? tables::saga::find_locked(tx, *waiter) : std::nullopt;
  if (!row || !row->owner.empty()) return youngest;
  auto progress = from_json<Progress>(row->progress);
  if (!progress.queued) return youngest;
  progress.wait_until = tx.now();
  row->progress = to_json(progress);
  row->wake_at = tx.now();
  row->log.clear();
  tables::saga::update(tx, *row);
  return youngest;
}

}  // namespace skald::saga
