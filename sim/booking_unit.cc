#include "sim/booking_unit.h"

#include "booking/booking.h"
#include "course/course.h"
#include "golf/ways.h"
#include "notify/notify.h"
#include "sim/signals.h"

namespace skald::sim {
namespace {

constexpr Duration kSkew = 300ms;  // of the services' clocks, one to the next

EngineOptions engine_options(const Plan& plan, Service service) {
  EngineOptions out;
  out.outbox = plan.options;
  out.outbox.source = "/" + std::string(enum_name(service));
  return out;
}

const Migration kOrder{.version = 1,
                       .name = "the last event of each key and source",
                       .sql =
                           "CREATE TABLE sim_order (source TEXT NOT NULL, key TEXT NOT NULL, emitted_at BIGINT "
                           "NOT NULL, PRIMARY KEY (source, key))",
                       .postgres_sql = ""};

// What goes through the broker is handled in the order of its key, but for what was replayed.
void check_order(Transaction& tx, const Message& message) {
  if (message.out_of_order) return;
  const Rows last =
      tx.query("SELECT emitted_at FROM sim_order WHERE source = $1 AND key = $2", message.source, message.event.key);
  if (!last.empty() && message.time < last.get<Time>(0, 0))
    throw BrokenInvariant{"B13", message.event.id + " was handled behind a later event of its key"};
  tx.execute(
      "INSERT INTO sim_order (source, key, emitted_at) VALUES ($1, $2, $3) ON CONFLICT (source, key) DO UPDATE SET "
      "emitted_at = excluded.emitted_at",
      message.source, message.event.key, message.time);
}

}  // namespace

void BookingObserver::count(std::string_view metric, std::int64_t) {
  if (metric == "course_released_early_total") stage_.markers.hit(Marker::release_overtakes_reserve);
}

void BookingObserver::log(Level, std::string_view message, std::string_view fields) {
  if (message.starts_with("a reserve came again")) stage_.markers.hit(Marker::duplicate_reserve);
  if (message.starts_with("a release came again")) stage_.markers.hit(Marker::duplicate_release);
  stage_.trace.note(stage_.now(), {"  log", message, fields});
}

BookingUnit::BookingUnit(Service service, Surroundings around)
    : stage_(around.stage),
      clock_(stage_.timeline, static_cast<int>(service) * kSkew),
      observer_(stage_),
      env_{clock_, stage_.engine_random, observer_},
      db_(stage_, around.wiring, around.disk),
      bus_(stage_, around.network, service == Service::notify ? nullptr : around.broker,
           std::string(enum_name(service))),
      routes_(env_, http::Authenticator(env_, std::nullopt), "sim"),
      engine_(env_, db_, engine_options(stage_.plan, service)),
      steps_(engine_) {
  http::migrate_api_keys(db_);
  for (const golf::Way& way : golf::kWays)
    if (way.from == enum_name(service))
      engine_.route({.type = std::string(way.type), .bus = &bus_, .retries_max = stage_.plan.route_retries_max});
  install(service, around);
  if (around.broker == nullptr) return;
  db_.migrate("sim", {&kOrder, 1});
  for (const golf::Way& way : golf::kWays)
    if (way.to == enum_name(service))
      engine_.consume(
          {.name = "order of " + std::string(way.type), .type = std::string(way.type), .handle = check_order});
}

void BookingUnit::install(Service service, const Surroundings& around) {
  switch (service) {
    case Service::booking:
      return booking::install(
          engine_, routes_, env_,
          {.ask = around.ask_course, .refund_last_day = stage_.plan.refund_last_day, .charge_max = kChargeMax});
    case Service::course:
      return course::install(engine_, routes_, env_,
                             {.pause = [pause = around.wiring.pause](Duration time) { pause(time, false); }});
    case Service::notify: return notify::install(engine_, routes_, env_, {.webhook = &bus_});
  }
}

Duration BookingUnit::beat() {
  try {
    return steps_.beat();
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  no beat:", error.code()});
    return 100ms;
  }
}

Duration BookingUnit::relay() {
  const Duration again = steps_.relay();
  wake_seen_ = steps_.relay_woken();
  return again;
}

std::optional<Instant> BookingUnit::wants_relay() const {
  return steps_.relay_woken() && !wake_seen_ ? stage_.now() : bus_.next_answer();
}

Request request_of(std::string method, std::string path, std::string body, std::string key) {
  Request out;
  out.method = std::move(method);
  out.path = std::move(path);
  out.body = std::move(body);
  if (!key.empty()) out.headers["idempotency-key"] = std::move(key);
  return out;
}

}  // namespace skald::sim
