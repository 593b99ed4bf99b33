#include "http/engine_paths.h"

#include "store/health.h"
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

std::vector<AuditView> list_audit(Engine& engine, const Request& request, const Position& after, std::size_t limit) {
  const tables::audit::Filter filter{request.query_value("actor"), request.query_value("action"),
                                     request.query_value("target")};
  return engine.database().read_result([&](Transaction& tx) {
    std::vector<AuditView> out;
    for (auto& r : tables::audit::list(tx, filter, unless_empty(after[0]), limit))
      out.push_back({r.id, r.at, r.actor, r.action, r.target, r.detail});
    return out;
  });
}

std::vector<WorkerView> list_workers(Engine& engine, const Position& after) {
  auto rows = engine.workers();
  std::erase_if(rows, [&](const WorkerView& row) { return row.id <= after[0]; });
  std::ranges::sort(rows, {}, &WorkerView::id);
  return rows;
}

// Says who is not, which what is thrown would leave to the log.
Response readiness(const Watched& watched, const Request& request) {
  std::string idle, why;
  const auto add = [&why](const std::string& reason) {
    if (!reason.empty()) why += (why.empty() ? "" : "; ") + reason;
  };
  for (const ServiceEngine& of : watched.engines) {
    if (of.engine.ready()) continue;
    const std::string trouble = health_of(of.engine.database()).trouble;
    if (trouble.empty()) idle += (idle.empty() ? "" : ", ") + of.service;
    else add(of.service + ": " + trouble);
  }
  if (!idle.empty()) add(idle + ": the database does not answer, or this process has lost its lease");
  add(watched.missing());
  if (why.empty()) return Response::json(200, Health{"ready"});
  return problem_response({503, "NOT_READY", why, 1}, request.request_id);
}

void add_health_paths(Routes& routes, const Watched& watched) {
  routes.get("/healthz", Access::open, describe<void, Health>("Whether the process answers"),
             [](const Request&) { return Response::json(200, Health{"ok"}); });
  routes.get("/readyz", Access::open,
             describe<void, Health>("Whether every service's database answers and this process may work"),
             [watched](const Request& request) { return readiness(watched, request); });
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

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

void add_open_paths(Routes& routes, const Watched& watched) {
  add_health_paths(routes, watched);
  add_metrics_path(routes, watched);
}

void add_engine_paths(Routes& routes, const Watched& watched) {
  const Engines& engines = watched.engines;
  add_open_paths(routes, watched);
  add_overview_paths(routes, watched);
  add_outbox_paths(routes, engines);
  add_dead_letter_paths(routes, engines);
  add_subscriber_paths(routes, engines);
  add_saga_paths(routes, engines);
  add_lock_paths(routes, engines);
  add_history_paths(routes, engines);
  add_isolation_paths(routes, engines);
  add_list<AuditView>(routes, engines, "/api/audit", "What operators did, and what the post found amiss, newest first",
                      {"actor", "action", "target"},
                      {.rows = list_audit, .position = [](const AuditView& row) { return Position{row.id}; }});
  add_list<WorkerView>(routes, engines, "/api/workers", "The processes that work on each service's database", {},
                       {.rows = [](Engine& engine, const Request&, const Position& after,
                                   std::size_t) { return list_workers(engine, after); },
                        .position = [](const WorkerView& row) { return Position{row.id}; }});
}

}  // namespace skald::http
