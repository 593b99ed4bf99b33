#include "sim/scheduler.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/signals.h"

namespace skald::sim {
namespace {

constexpr int kDepthMax = 2;            // of steps inside of paused steps
constexpr int kNestedDecisionsMax = 120;
constexpr Duration kTogether = 3ms;     // what is due within this may come in any order
constexpr Duration kLeap = std::chrono::days(730);
constexpr Duration kLeapsAbove = 9s;    // jumps that take years with them

}  // namespace

std::optional<Instant> Scheduler::due(const Actor& actor) const {
  if (actor.busy) return std::nullopt;
  if (actor.kind == Actor::Kind::outside) {
    if (scene_.plan.healed) return std::nullopt;
    return actor.due;
  }
  const Slot& slot = slot_of(actor.slot);
  if (slot.dying || slot.freezes > 0 || (actor.kind == Actor::Kind::start) == slot.running) return std::nullopt;
  Instant at = actor.due;
  if (actor.early)
    if (const auto early = actor.early()) at = std::min(at, *early);
  return std::max(at, slot.frozen_until);
}

bool Scheduler::step(Instant limit) {
  std::optional<Instant> first = next_arrival();
  for (const Actor& actor : actors_) {
    if (const auto at = due(actor); at && (!first || *at < *first)) first = at;
  }
  if (!first || *first > limit) {
    scene_.timeline.advance_to(std::min(limit, scene_.now() + 1h));
    return false;
  }
  scene_.timeline.advance_to(*first);
  ++decisions_;
  deliver_due();
  std::vector<Actor*> ready;
  for (Actor& actor : actors_) {
    if (const auto at = due(actor); at && *at <= scene_.now() + kTogether) ready.push_back(&actor);
  }
  if (!ready.empty()) run_actor(*scene_.dice.pick(ready));
  observe();
  return true;
}

void Scheduler::run_actor(Actor& actor) {
  scene_.trace.note(scene_.now(), {actor.name});
  actor.busy = true;
  Duration again = 100ms;
  if (actor.kind == Actor::Kind::beat || actor.kind == Actor::Kind::part) {
    inside(actor.slot, [&] { again = actor.step(); });
  } else {
    again = actor.step();
  }
  actor.busy = false;
  if (actor.kind != Actor::Kind::start) actor.due = scene_.now() + again;
}

void Scheduler::inside(int index, const std::function<void()>& body) {
  Slot& slot = slot_of(index);
  ++slot.frames;
  try {
    body();
  } catch (const Crash&) {
    slot.dying = true;
    slot.graceful = false;
  }
  --slot.frames;
  if (writer_stopped(index)) slot.dying = true;
  if (slot.dying && slot.frames == 0) end(index);
}

void Scheduler::pause(int index, Duration time, bool whole_process) {
  if (scene_.trace.depth >= kDepthMax) return;
  Slot& slot = slot_of(index);
  const Instant until = scene_.now() + time;
  scene_.trace.note(scene_.now(), {whole_process ? "  frozen" : "  paused", std::to_string(index)});
  ++scene_.trace.depth;
  if (whole_process) ++slot.freezes;
  for (int i = 0; i < kNestedDecisionsMax && scene_.now() < until && step(until);) ++i;
  if (whole_process) --slot.freezes;
  --scene_.trace.depth;
  if (whole_process && time > scene_.plan.options.lease && !scene_.plan.sole)
    scene_.markers.hit(Marker::frozen_past_lease);
}

void Scheduler::start(int index) {
  begin_process(index);
  slot_of(index).running = true;
  for (Actor& actor : actors_)
    if (actor.slot == index) actor.due = scene_.now();
}

void Scheduler::kill(int index) {
  Slot& slot = slot_of(index);
  slot.dying = true;
  slot.graceful = false;
  if (slot.frames == 0) end(index);
}

void Scheduler::end(int index) {
  Slot& slot = slot_of(index);
  scene_.trace.note(scene_.now(), {slot.graceful ? "stopped" : "died", std::to_string(index)});
  slot.running = false;
  end_process(index, slot.graceful);
  slot.dying = slot.graceful = false;
  slot.frozen_until = {};
  for (Actor& actor : actors_) {
    if (actor.slot == index && actor.kind == Actor::Kind::start)
      actor.due = scene_.now() + scene_.dice.between(50ms, scene_.plan.healed ? Duration(300ms) : Duration(5s));
  }
}

// Somebody notices a clock that is years wrong, and puts it right.
void Scheduler::correct_clock() { scene_.timeline.jump(-std::exchange(leap_, Duration::zero())); }

void Scheduler::check_time(sqlite::SqliteDatabase& disk) const {
  Time now;
  look_at(disk, [&](Transaction& tx) { now = tx.now(); });
  if (std::chrono::abs(now - scene_.timeline.wall()) < kLeap / 2) return;
  throw BrokenInvariant{"TIME", "a clock that was wrong for a moment is followed for good"};
}

void Scheduler::disturb() {
  correct_clock();
  SimRandom& dice = scene_.dice;
  const Rates& rates = scene_.plan.rates;
  if (dice.chance(rates.jump)) {
    const Duration by = dice.between(1s, 12s);
    const bool back = dice.chance(500);
    scene_.timeline.jump(back ? -by : by);
    scene_.markers.hit(back ? Marker::clock_back : Marker::clock_forward);
    if (by > kLeapsAbove) {
      leap_ = back ? -kLeap : kLeap;
      scene_.timeline.jump(leap_);
      scene_.markers.hit(Marker::clock_leapt);
    }
  }
  const int index = anybody();
  if (index < 0) return;
  Slot& slot = slot_of(index);
  if (dice.chance(rates.kill)) {
    scene_.markers.hit(Marker::crash_from_outside);
    kill(index);
  } else if (dice.chance(rates.stop)) {
    slot.graceful = true;
    drain(index);
  } else if (dice.chance(rates.nap)) {
    slot.frozen_until = scene_.now() + dice.between(500ms, 8s);
    if (slot.frozen_until - scene_.now() > scene_.plan.options.lease && !scene_.plan.sole)
      scene_.markers.hit(Marker::frozen_past_lease);
  }
}

void Scheduler::stop_if_drained(int index) {
  Slot& slot = slot_of(index);
  const auto beating = std::ranges::find_if(
      actors_, [&](const Actor& actor) { return actor.slot == index && actor.kind == Actor::Kind::beat; });
  if (!slot.graceful || !drained(index) || beating->busy) return;
  try {
    leave(index);
    scene_.markers.hit(Marker::graceful_stop);
    slot.dying = true;
  } catch (const Error&) {
    // left for the lease to run out
    slot.dying = true;
  }
}

bool Scheduler::can_be_asked(int index) const {
  const Slot& slot = slot_of(index);
  return slot.running && !slot.dying && slot.freezes == 0 && slot.frozen_until <= scene_.now();
}

int Scheduler::anybody() {
  std::vector<int> able;
  for (int i = 0; i < std::ssize(slots_); ++i)
    if (can_be_asked(i)) able.push_back(i);
  return able.empty() ? -1 : scene_.dice.pick(able);
}

void Scheduler::bring_back() {
  correct_clock();
  for (Slot& slot : slots_) slot.frozen_until = {};
  for (Actor& actor : actors_)
    if (actor.kind == Actor::Kind::start) actor.due = std::min(actor.due, scene_.now() + 300ms);
}

}  // namespace skald::sim
