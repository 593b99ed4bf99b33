#include "booking/desk.h"

namespace booking {
namespace {

constexpr int kExpiredAtOnce = 100;

// The net under the sagas' timers: a booking whose saga was lost does not stay PENDING.
void expire_forgotten(const Desk& desk) {
  const auto forgotten = desk.db().read_result([&](skald::Transaction& tx) {
    return tx.query("SELECT id FROM booking_record WHERE status = 'PENDING' AND created_at < $1 LIMIT $2",
                    tx.now() - 2 * desk.options.timeout, kExpiredAtOnce);
  });
  for (std::size_t i = 0; i < forgotten.size(); ++i) {
    desk.env.observer.count("booking_expired_by_net_total");
    desk.db().write("expire booking", [&](skald::Transaction& tx) {
      desk.lifecycle->expire(tx, forgotten.get<std::string>(i, 0), {.actor = "system"});
    });
  }
}

}  // namespace

void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options) {
  engine.database().migrate("booking", migrations());
  const auto lifecycle = std::make_shared<Lifecycle>(env, options, engine.sagas());
  const auto desk =
      std::make_shared<const Desk>(Desk{engine, env, options, lifecycle, creation_saga(lifecycle, options.timeout)});
  engine.sagas().add(desk->creation);
  engine.add_job(
      {.name = "booking.timeouts", .every = std::chrono::minutes(1), .run = [desk] { expire_forgotten(*desk); }});
  add_answers(desk);
  add_booking_paths(desk, router);
  add_booking_decisions(desk, router);
  add_booking_events(desk, router);
  add_ledger_path(desk, router);
  add_story(desk);
  add_invariants(desk, router);
}

}  // namespace booking
