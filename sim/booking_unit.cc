#include "sim/booking_unit.h"

#include "booking/booking.h"
#include "course/course.h"
#include "golf/ways.h"
#include "notify/notify.h"
#include "sim/signals.h"

namespace skald::sim {
namespace {

constexpr Duration kSkew = 300ms;  // of the services' clocks, one to the next

EngineOptions engine_options(const Plan& plan, Service service, BookingUnit::Alert alert) {
  EngineOptions out;
  out.outbox = plan.options;
  out.outbox.source = "/" + std::string(enum_name(service));
  out.alert = std::move(alert);
  return out;
}

const Migration kHandled{
    .version = 1,
    .name = "the last event of each key and source, how often each was handled, and which too late",
    .sql =
        "CREATE TABLE sim_order (source TEXT NOT NULL, key TEXT NOT NULL, emitted_at BIGINT "
        "NOT NULL, PRIMARY KEY (source, key));"
        "CREATE TABLE sim_handled (id TEXT PRIMARY KEY, times INTEGER NOT NULL, late INTEGER NOT "
        "NULL)",
    .postgres_sql = ""};

// That each is handled once, and in the order of its key but for what was replayed, is looked at in the end: what is known
// already is at times found out only after its handler has run, and undone.
void note_handled(Transaction& tx, const Message& message) {
  const Rows last =
      tx.query("SELECT emitted_at FROM sim_order WHERE source = $1 AND key = $2", message.source, message.event.key);
  const bool late = !message.out_of_order && !last.empty() && message.time < last.get<Time>(0, 0);
  tx.execute(
      "INSERT INTO sim_handled (id, times, late) VALUES ($1, 1, $2) ON CONFLICT (id) DO UPDATE SET times = times + 1",
      message.event.id, late);
  if (late || message.out_of_order) return;
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
      bus_(stage_, around.network, around.customers),
      courier_(stage_, around.network, around.office, std::string(enum_name(service)), around.sends),
      routes_(env_, http::Authenticator(env_, std::nullopt), "sim"),
      engine_(env_, db_, engine_options(stage_.plan, service, around.alert)),
      steps_(stage_, engine_, courier_) {
  http::migrate_api_keys(db_);
  watch_handling(service);
  install(service, around);
  subscribe(service);
}

// Called before the service's own handlers: where this fails, they wait, too.
void BookingUnit::watch_handling(Service service) {
  db_.migrate("sim", {&kHandled, 1});
  const auto handle = [this](Transaction& tx, const Message& message) {
    const Rates& rates = stage_.plan.rates;
    stage_.trace.note(stage_.now(), {"  handles", message.event.id, message.event.type});
    if (stage_.dice.chance(rates.flaky)) throw Busy("TRY_LATER", "simulated: the handler cannot work now");
    if (stage_.dice.chance(rates.unacceptable)) throw Refused("NOT_WANTED", "simulated: the handler refuses it");
    note_handled(tx, message);
  };
  for (const golf::Way& way : golf::kWays)
    if (way.to == enum_name(service))
      engine_.consume(
          {.name = "handling of " + std::string(way.type), .type = std::string(way.type), .handle = handle});
}

void BookingUnit::subscribe(Service service) {
  std::map<std::string, std::vector<std::string>> types;
  for (const golf::Way& way : golf::kWays)
    if (way.from == enum_name(service)) types[std::string(way.to)].emplace_back(way.type);
  engine_.post(courier_);
  for (auto& [name, wanted] : types) engine_.subscriber({.name = name, .types = std::move(wanted)});
  steps_.subscribe();
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

std::optional<Instant> BookingUnit::wants_relay() const {
  const auto woken = steps_.wants_relay();
  return woken ? woken : bus_.next_answer();
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
