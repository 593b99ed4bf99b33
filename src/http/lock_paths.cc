// GET /api/locks.
#include <algorithm>
#include <tuple>

#include "http/engine_paths.h"

namespace skald::http {
namespace {

// Those who share a lock are several rows of one resource and key.
auto position(const LockView& lock) { return std::tie(lock.resource, lock.key, lock.saga_id); }

Response list(Engine& engine, const Request& request) {
  const Page page = Page::of(request);
  const auto after = page.after(3);
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
  return Response::json(200, page.cut(std::move(rows), [](const LockView& lock) {
    return Page::cursor_at({lock.resource, lock.key, lock.saga_id});
  }));
}

}  // namespace

void add_lock_paths(Routes& routes, Engine& engine) {
  routes.get("/api/locks", Access::admin,
             describe<void, Listing<LockView>>("Semantic locks: who holds them, since when, and who waits", 200,
                                               {"resource", "key", "sagaId"}),
             [&engine](const Request& request) { return list(engine, request); });
}

}  // namespace skald::http
