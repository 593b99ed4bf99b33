// GET /api/overview, /api/stream and /metrics: the state of the whole at a glance.
#include "http/engine_paths.h"
#include "store/tables/outbox.h"

namespace skald::http {
namespace {

struct SchemaView {
  std::string component;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(SchemaView, (), (component, version))

struct Overview {
  std::string database;
  std::vector<SchemaView> schema;
  double clock_skew_seconds = 0;   // this process ahead of its database
  std::int64_t pending = 0;        // entries that are not at their end
  std::optional<Time> oldest_pending;
  std::int64_t dead_letters = 0;
  std::int64_t workers = 0;
};
BOOST_DESCRIBE_STRUCT(Overview, (),
                      (database, schema, clock_skew_seconds, pending, oldest_pending, dead_letters, workers))

Overview look(const Watched& watched) {
  return watched.engine.database().read_result([&](Transaction& tx) {
    Overview out;
    out.database = tx.on(Dialect::sqlite) ? "sqlite" : "postgresql";
    out.clock_skew_seconds = std::chrono::duration<double>(watched.env.clock.now() - tx.now()).count();
    const auto backlog = tables::outbox::backlog(tx);
    out.pending = backlog.live;
    out.oldest_pending = backlog.oldest;
    out.dead_letters = tx.query("SELECT COUNT(*) FROM skald_dead_letter WHERE state = 'DEAD'").get<std::int64_t>(0, 0);
    out.workers = tx.query("SELECT COUNT(*) FROM skald_worker").get<std::int64_t>(0, 0);
    const Rows schema =
        tx.query("SELECT component, MAX(version) FROM skald_schema GROUP BY component ORDER BY component");
    for (std::size_t i = 0; i < schema.size(); ++i)
      out.schema.push_back({schema.get<std::string>(i, 0), schema.get<std::int64_t>(i, 1)});
    return out;
  });
}

// Asked for each second: what has not changed is not told again.
Stream open_stream(const Watched& watched) {
  return {std::string(kOverviewTopic), [watched, told = std::string()]() mutable -> std::optional<std::string> {
            Overview now = look(watched);
            now.clock_skew_seconds = 0;
            std::string text = to_json(now);
            if (text == told) return "";
            told = std::move(text);
            return "event: overview\ndata: " + told + "\n\n";
          }};
}

// Answers without its database, too: an outage is when the numbers are wanted.
std::string metrics_text(const Watched& watched) {
  Metrics& metrics = watched.metrics;
  try {
    const Overview now = look(watched);
    const Duration age = now.oldest_pending ? watched.env.clock.now() - *now.oldest_pending : Duration::zero();
    metrics.gauge("database_up", 1);
    metrics.gauge("outbox_pending", static_cast<double>(now.pending));
    metrics.gauge("outbox_oldest_pending_age", std::chrono::duration<double>(age).count());
    metrics.gauge("dead_letters_waiting", static_cast<double>(now.dead_letters));
    metrics.gauge("workers", static_cast<double>(now.workers));
  } catch (const Error&) {
    metrics.gauge("database_up", 0);
  }
  return metrics.text();
}

}  // namespace

void add_overview_paths(Routes& routes, const Watched& watched) {
  routes.get("/api/overview", Access::admin,
             describe<void, Overview>("Database, backlog, dead letters and workers at a glance"),
             [watched](const Request&) { return Response::json(200, look(watched)); });
  routes.stream("/api/stream", Access::admin, describe<void, void>("The overview again whenever it has changed"),
                [watched](const Request&) { return open_stream(watched); });
  Doc doc = describe<void, void>("Metrics for Prometheus");
  doc.content_type = "text/plain; version=0.0.4";
  routes.get("/metrics", Access::open, std::move(doc), [watched](const Request&) {
    return Response{200, metrics_text(watched), "text/plain; version=0.0.4", {}};
  });
}

}  // namespace skald::http
