// GET /api/locks.
#include "http/engine_paths.h"

namespace skald::http {
namespace {

std::vector<LockView> locks(Engine& engine, const Request& request, const Position& after, std::size_t limit) {
  LockFilter filter{.resource = request.query_value("resource"),
                    .key = request.query_value("key"),
                    .saga_id = request.query_value("sagaId"),
                    .after = {},
                    .limit = limit};
  if (!after[2].empty()) filter.after = {after[0], after[1], after[2]};
  return engine.database().read_result([&](Transaction& tx) { return engine.sagas().locks(tx, filter); });
}

}  // namespace

void add_lock_paths(Routes& routes, const Engines& engines) {
  add_list<LockView>(routes, engines, "/api/locks", "Semantic locks: who holds them, since when, and who waits",
                     {"resource", "key", "sagaId"},
                     {.rows = locks,
                      .position = [](const LockView& lock) { return Position{lock.resource, lock.key, lock.saga_id}; },
                      .fields = 3});
}

}  // namespace skald::http
