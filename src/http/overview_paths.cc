// GET /api/overview, /api/stream and /metrics: the state of the whole at a glance.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "http/engine_paths.h"
#include "store/health.h"
#include "store/tables/outbox.h"

namespace skald::http {
namespace {

struct SchemaView {
  std::string component;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(SchemaView, (), (component, version))

// One engine, or all of them together.
struct Figures {
  std::string database;            // of all: each kind once
  std::vector<SchemaView> schema;  // of all: the lowest version of each component
  double clock_skew_seconds = 0;   // this process ahead of its database; of all: the largest
  std::int64_t pending = 0;        // entries that are not at their end
  std::optional<Time> oldest_pending;
  std::int64_t dead_letters = 0;
  std::int64_t workers = 0;
};
BOOST_DESCRIBE_STRUCT(Figures, (),
                      (database, schema, clock_skew_seconds, pending, oldest_pending, dead_letters, workers))

struct Overview : Figures {
  std::vector<OfService<Figures>> services;
};
BOOST_DESCRIBE_STRUCT(Overview, (Figures), (services))

Figures look(const Env& env, Engine& engine) {
  return engine.database().read_result([&](Transaction& tx) {
    Figures out;
    out.database = tx.on(Dialect::sqlite) ? "sqlite" : "postgresql";
    out.clock_skew_seconds = std::chrono::duration<double>(env.clock.now() - tx.now()).count();
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

Overview summed(std::vector<OfService<Figures>> services) {
  Overview out;
  std::set<std::string> kinds;
  std::map<std::string, std::int64_t> versions;
  for (const Figures& one : services) {
    kinds.insert(one.database);
    for (const SchemaView& part : one.schema) {
      std::int64_t& lowest = versions.try_emplace(part.component, part.version).first->second;
      lowest = std::min(lowest, part.version);
    }
    if (std::abs(one.clock_skew_seconds) > std::abs(out.clock_skew_seconds))
      out.clock_skew_seconds = one.clock_skew_seconds;
    out.pending += one.pending;
    if (one.oldest_pending)
      out.oldest_pending = std::min(*one.oldest_pending, out.oldest_pending.value_or(Time::max()));
    out.dead_letters += one.dead_letters;
    out.workers += one.workers;
  }
  for (const std::string& kind : kinds) out.database += (out.database.empty() ? "" : ", ") + kind;
  for (const auto& [component, version] : versions) out.schema.push_back({component, version});
  out.services = std::move(services);
  return out;
}

Overview look(const Watched& watched) {
  std::vector<OfService<Figures>> services;
  for (const ServiceEngine& of : watched.engines)
    services.push_back({ask(of, [&](Engine& engine) { return look(watched.env, engine); }), of.service});
  return summed(std::move(services));
}

// Asked for each second: what has not changed is not told again.
Stream open_stream(const Watched& watched) {
  return {std::string(kOverviewTopic), [watched, told = std::string()]() mutable -> std::optional<std::string> {
            Overview now = look(watched);
            now.clock_skew_seconds = 0;
            for (Figures& one : now.services) one.clock_skew_seconds = 0;
            std::string text = to_json(now);
            if (text == told) return "";
            told = std::move(text);
            return "event: overview\ndata: " + told + "\n\n";
          }};
}

// What the databases say for the metrics. They are asked at most once a second, by one request,
// however many come: anybody may ask, and counting what waits is work. Thread safe.
class Scrape {
 public:
  explicit Scrape(Watched watched) : watched_(std::move(watched)) {}

  std::string text() {
    const bool carried =
        std::ranges::all_of(watched_.engines, [](const ServiceEngine& of) { return of.engine.buses_up(); });
    watched_.metrics.gauge("bus_up", carried ? 1 : 0);
    const bool writable = std::ranges::all_of(
        watched_.engines, [](const ServiceEngine& of) { return health_of(of.engine.database()).trouble.empty(); });
    watched_.metrics.gauge("database_writable", writable ? 1 : 0);
    // Whoever comes while another asks is given what was known before, unless that is nothing.
    const std::unique_lock lock = known_ ? std::unique_lock(mutex_, std::try_to_lock) : std::unique_lock(mutex_);
    const Instant now = watched_.env.clock.steady();
    if (lock.owns_lock() && (!asked_ || now - *asked_ >= Duration(1s))) {
      refresh();
      asked_ = now;
      known_ = true;
    }
    return watched_.metrics.text();
  }

 private:
  // Answers without its databases, too: an outage is when the numbers are wanted. Sums that
  // lack one of them would be wrong, so they stay as they were.
  void refresh() {
    Metrics& metrics = watched_.metrics;
    try {
      const Overview now = look(watched_);
      const Duration age = now.oldest_pending ? watched_.env.clock.now() - *now.oldest_pending : Duration::zero();
      metrics.gauge("database_up", 1);
      metrics.gauge("outbox_pending", static_cast<double>(now.pending));
      metrics.gauge("outbox_oldest_pending_age", std::chrono::duration<double>(age).count());
      metrics.gauge("dead_letters_waiting", static_cast<double>(now.dead_letters));
      metrics.gauge("workers", static_cast<double>(now.workers));
      metrics.gauge("clock_skew_seconds", now.clock_skew_seconds);
      tell_of_subscribers();
    } catch (const Error&) {
      metrics.gauge("database_up", 0);
    }
  }

  // Of those that several services send to: the sum, the oldest, and whether all can reach it.
  void tell_of_subscribers() {
    std::map<std::string, double> owed, age, up;
    const Time now = watched_.env.clock.now();
    for (const ServiceEngine& of : watched_.engines) {
      for (const SubscriberView& one : of.engine.subscribers()) {
        owed[one.name] += static_cast<double>(one.owed);
        const double seconds = one.oldest ? std::chrono::duration<double>(now - *one.oldest).count() : 0;
        double& oldest = age[one.name];
        oldest = std::max(oldest, seconds);
        double& reached = up.try_emplace(one.name, 1).first->second;
        if (one.trouble) reached = 0;
      }
    }
    watched_.metrics.gauges("post_owed", "subscriber", owed);
    watched_.metrics.gauges("post_oldest_owed_age_seconds", "subscriber", age);
    watched_.metrics.gauges("post_up", "subscriber", up);
  }

  Watched watched_;
  std::atomic<bool> known_ = false;
  std::mutex mutex_;
  std::optional<Instant> asked_;
};

}  // namespace

void add_overview_paths(Routes& routes, const Watched& watched) {
  routes.get(
      "/api/overview", Access::admin,
      describe<void, Overview>("Databases, backlog, dead letters and workers at a glance, in all and of each service"),
      [watched](const Request&) { return Response::json(200, look(watched)); });
  routes.stream("/api/stream", Access::admin, describe<void, void>("The overview again whenever it has changed"),
                [watched](const Request&) { return open_stream(watched); });
}

void add_metrics_path(Routes& routes, const Watched& watched) {
  Doc doc = describe<void, void>("Metrics for Prometheus");
  doc.content_type = "text/plain; version=0.0.4";
  routes.get("/metrics", watched.metrics_access, std::move(doc),
             [scrape = std::make_shared<Scrape>(watched)](const Request&) {
               return Response{200, scrape->text(), "text/plain; version=0.0.4", {}};
             });
}

}  // namespace skald::http
