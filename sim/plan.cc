#include "sim/plan.h"

namespace skald::sim {
namespace {

void draw_rates(SimRandom& dice, Rates& rates) {
  const auto maybe = [&](int high) { return dice.chance(600) ? dice.between(1, high) : 0; };
  rates.away = maybe(40);
  rates.busy = maybe(30);
  rates.crash_before = maybe(12);
  rates.crash_after = maybe(12);
  rates.commit_fails = maybe(30);
  rates.answer_lost = maybe(20);
  rates.body_twice = maybe(60);
  rates.bury_fails = maybe(600);
  rates.slow = maybe(30);
  rates.freeze = maybe(20);
  rates.announce_lost = maybe(300);
  rates.lost = maybe(150);
  rates.doubled = maybe(150);
  rates.send_answer_lost = maybe(150);
  rates.late = maybe(80);
  rates.server_error = maybe(300);
  rates.too_many = maybe(100);
  rates.refused = maybe(40);
  rates.short_write = maybe(100);
  rates.sync_error = maybe(100);
  rates.flaky = maybe(250);
  rates.doomed = maybe(120);
  rates.unacceptable = maybe(80);
  rates.poison = maybe(25);
  rates.kill = maybe(200);
  rates.stop = maybe(100);
  rates.nap = maybe(200);
  rates.jump = maybe(150);
  rates.tamper = maybe(100);
  rates.unclear = maybe(60);
  rates.deaf = maybe(300);
}

// One process per service, on SQLite. Tries are few and far between, so that what was lost
// becomes a dead letter or comes after the saga's timeout.
void draw_booking(SimRandom& dice, Plan& plan) {
  plan.sole = true;
  plan.processes = 3;
  plan.decisions = dice.between(900, 1200);
  plan.route_retries_max = dice.between(1, 4);
  plan.refund_last_day = dice.chance(500) ? 30 : 0;
  plan.options.backoff_first = dice.between(500ms, 20s);
  plan.options.beat = 2s;
  plan.options.lease = 6s;
  plan.rates.truncated = dice.chance(600) ? dice.between(1, 150) : 0;
}

// A restored sender and its receiver compare what both still have: nothing is forgotten here.
void draw_post(SimRandom& dice, Plan& plan) {
  plan.sole = true;
  plan.processes = 2;
  plan.decisions = dice.between(900, 1200);
  plan.options.beat = 2s;
  plan.options.lease = 6s;
  plan.options.retention = 48h;
  Rates& rates = plan.rates;
  rates.truncated = dice.chance(600) ? dice.between(1, 150) : 0;
  rates.restore = dice.chance(700) ? dice.between(5, 80) : 0;
  rates.copy = 150;
  // A database that is opened while its clock is years wrong takes that for the time.
  if (rates.restore > 0) rates.jump = 0;
  plan.is_anything_late = rates.late > 0 || rates.doubled > 0;
}

// One process on SQLite. What agents have ended with must be known for as long as their runs lie there.
void draw_agentflow(SimRandom& dice, Plan& plan) {
  plan.sole = true;
  plan.processes = 1;
  plan.decisions = dice.between(700, 900);
  plan.options.on_dead_letter = OnDeadLetter::go_on;
  plan.options.retention = 25h;
  Rates& rates = plan.rates;
  const auto maybe = [&](int high) { return dice.chance(600) ? dice.between(1, high) : 0; };
  rates.outside_fails = maybe(200);
  rates.outside_cut_off = maybe(150);
  rates.outside_answer_lost = maybe(150);
  rates.outside_refused = maybe(60);
  rates.outside_dies = maybe(30);
  rates.outside_slow = maybe(150);
  rates.interrupted = maybe(150);
  rates.reboot = maybe(60);
}

}  // namespace

Plan draw_plan(SimRandom& dice, Workload workload) {
  Plan plan;
  plan.workload = workload;
  plan.sole = dice.chance(350);
  plan.processes = plan.sole ? 1 : dice.between(1, 4);
  plan.keys = dice.between(2, 6);
  plan.decisions = dice.between(500, 600);
  plan.route_retries_max = dice.between(1, 3);
  OutboxOptions& options = plan.options;
  options.source = "/sim";
  options.retries_max = dice.between(1, 3);
  options.backoff_first = dice.between(200ms, 2s);
  options.on_dead_letter = dice.chance(400) ? OnDeadLetter::block : OnDeadLetter::go_on;
  if (dice.chance(300)) options.hash_key = "secret";
  options.lease = 3s;
  options.beat = 1s;
  options.batch = dice.chance(500) ? 256 : static_cast<std::size_t>(dice.between(4, 64));
  options.in_flight_max = dice.chance(500) ? 256 : static_cast<std::size_t>(dice.between(1, 6));
  options.retention = dice.between(2s, 20s);
  draw_rates(dice, plan.rates);
  if (plan.runs_sagas()) plan.saga_deadline = dice.between(3s, 20s);
  if (workload == Workload::booking) draw_booking(dice, plan);
  if (workload == Workload::post) draw_post(dice, plan);
  if (workload == Workload::agentflow) draw_agentflow(dice, plan);
  return plan;
}

}  // namespace skald::sim
