#include <algorithm>

#include "booking/desk.h"

namespace booking {
namespace {

using skald::Duration;
using skald::Time;
using skald::Transaction;

constexpr int kExpiredAtOnce = 100;

// Those whose time is up, the oldest first.
void expire_due(const Desk& desk) {
  const auto due = desk.db().read_result([&](Transaction& tx) {
    return tx.query(
        "SELECT id FROM booking_record WHERE status = 'PENDING' AND created_at <= $1 ORDER BY created_at LIMIT $2",
        tx.now() - desk.options.timeout, kExpiredAtOnce);
  });
  for (std::size_t i = 0; i < due.size(); ++i)
    desk.db().write("expire booking", [&](Transaction& tx) {
      desk.lifecycle->expire(tx, due.get<std::string>(i, 0), {.actor = "system"});
    });
}

// All have the same time to live: what is made from now on is due after the oldest that is there.
Duration oldest_due_in(const Desk& desk) {
  return desk.db().read_result([&](Transaction& tx) {
    const auto oldest =
        tx.query("SELECT created_at FROM booking_record WHERE status = 'PENDING' ORDER BY created_at LIMIT 1");
    return oldest.empty() ? desk.options.timeout : oldest.get<Time>(0, 0) + desk.options.timeout - tx.now();
  });
}

}  // namespace

void install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options) {
  engine.database().migrate("booking", migrations());
  const auto lifecycle = std::make_shared<Lifecycle>(env, options);
  const auto desk = std::make_shared<const Desk>(Desk{engine, env, options, lifecycle});
  engine.add_job({.name = "booking.timeouts",
                  .every = std::min<Duration>(std::chrono::minutes(1), options.timeout),
                  .run = [desk] { expire_due(*desk); },
                  .again_in = [desk] { return oldest_due_in(*desk); }});
  add_answers(desk);
  add_booking_paths(desk, router);
  add_booking_decisions(desk, router);
  add_booking_events(desk, router);
  add_ledger_path(desk, router);
  add_story(desk);
  add_invariants(desk, router);
}

}  // namespace booking
