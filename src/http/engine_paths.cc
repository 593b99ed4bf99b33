#include "http/engine_paths.h"

#include "store/tables/audit.h"

namespace skald::http {
namespace {

struct AuditView {
  std::string id;
  Time at{};
  std::string actor, action, target, detail;
};
BOOST_DESCRIBE_STRUCT(AuditView, (), (id, at, actor, action, target, detail))

struct Health {
  std::string status;
};
BOOST_DESCRIBE_STRUCT(Health, (), (status))

Response list_audit(Engine& engine, const Request& request) {
  const Page page = Page::of(request);
  const std::string after = page.after(1)[0];
  auto rows = engine.database().read_result([&](Transaction& tx) {
    std::vector<AuditView> out;
    for (auto& r : tables::audit::list(tx, after.empty() ? std::nullopt : std::optional(after), page.limit + 1))
      out.push_back({r.id, r.at, r.actor, r.action, r.target, r.detail});
    return out;
  });
  return Response::json(200, page.cut(std::move(rows), [](const AuditView& row) { return Page::cursor_at({row.id}); }));
}

void add_health_paths(Routes& routes, Engine& engine) {
  routes.get("/healthz", Access::open, describe<void, Health>("Whether the process answers"),
             [](const Request&) { return Response::json(200, Health{"ok"}); });
  routes.get("/readyz", Access::open, describe<void, Health>("Whether the database answers and this process may work"),
             [&engine](const Request&) {
               if (!engine.ready())
                 throw Unavailable("NOT_READY", "the database does not answer, or this process has lost its lease");
               return Response::json(200, Health{"ready"});
             });
}

}  // namespace

RawJson shown_payload(const std::string& payload) {
  try {
    json::parse(payload);
    return {payload};
  } catch (const Invalid&) {
    return {to_json(payload)};
  }
}

void add_engine_paths(Routes& routes, const Watched& watched) {
  Engine& engine = watched.engine;
  add_health_paths(routes, engine);
  add_overview_paths(routes, watched);
  add_outbox_paths(routes, engine);
  add_dead_letter_paths(routes, engine);
  add_saga_paths(routes, engine);
  add_lock_paths(routes, engine);
  add_history_paths(routes, engine);
  add_isolation_paths(routes, engine);
  routes.get("/api/audit", Access::admin, describe<void, Listing<AuditView>>("What operators did, newest first"),
             [&engine](const Request& request) { return list_audit(engine, request); });
  routes.get("/api/workers", Access::admin,
             describe<void, Listing<WorkerView>>("The processes that work on this database"),
             [&engine](const Request& request) {
               const Page page = Page::of(request);
               const std::string after = page.after(1)[0];
               auto rows = engine.workers();
               std::erase_if(rows, [&](const WorkerView& row) { return row.id <= after; });
               std::ranges::sort(rows, {}, &WorkerView::id);
               return Response::json(
                   200, page.cut(std::move(rows), [](const WorkerView& row) { return Page::cursor_at({row.id}); }));
             });
}

}  // namespace skald::http
