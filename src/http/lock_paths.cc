// GET /api/locks.
#include <algorithm>
#include <tuple>

#include "http/engine_paths.h"

namespace skald::http {
namespace {

// Those who share a lock are several rows of one resource and key.
auto position(const LockView& lock) { return std::tie(lock.resource, lock.key, lock.saga_id); }

std::vector<LockView> list(Engine& engine, const Request& request, const Position& after, std::size_t) {
  auto rows = engine.database().read_result([&](Transaction& tx) { return engine.sagas().locks(tx); });
  const auto differs = [&](const std::string& name, const std::string& value) {
    const auto wanted = request.query_value(name);
    return wanted && *wanted != value;
  };
  std::erase_if(rows, [&](const LockView& lock) {
    return position(lock) <= std::tie(after[0], after[1], after[2]) || differs("resource", lock.resource) ||
           differs("key", lock.key) || differs("sagaId", lock.saga_id);
  });
  std::ranges::sort(rows, [](const LockView& a, const LockView& b) { return position(a) < position(b); });
  return rows;
}

}  // namespace

void add_lock_paths(Routes& routes, const Engines& engines) {
  add_list<LockView>(routes, engines, "/api/locks", "Semantic locks: who holds them, since when, and who waits",
                     {"resource", "key", "sagaId"},
                     {.rows = list,
                      .position = [](const LockView& lock) { return Position{lock.resource, lock.key, lock.saga_id}; },
                      .fields = 3});
}

}  // namespace skald::http
