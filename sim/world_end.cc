// World: what the outside does to the processes, and how a run ends.
#include "sim/signals.h"
#include "sim/world.h"

namespace skald::sim {
namespace {

// A key with many events that always fail needs all of their backoffs, one after the other.
constexpr Duration kHealingMax = 900s, kSagasHealingMax = 200s;
constexpr int kHealingDecisionsMax = 30000;
constexpr int kRoundsMax = 60;

}  // namespace

Duration World::chaos_step() {
  ledger_.mark_waiting_keys();
  disturb();
  return stage_.dice.between(200ms, 900ms);
}

void World::heal() {
  stage_.trace.note(stage_.now(), {"everything heals"});
  stage_.plan.rates = {};
  stage_.plan.healed = true;
  bring_back();
}

void World::run_until_quiet() {
  const Instant begun = stage_.now();
  const int before = decisions();
  for (;;) {
    for (int i = 0; i < 20; ++i) step(Instant::max());
    const std::string unfinished = ledger_.unfinished(), sagas = runs_sagas() ? saga_ledger_.unfinished() : "";
    bool idle = network_.empty();
    for (const Machine& machine : machines_) idle = idle && machine.process && machine.process->idle();
    if (idle && unfinished.empty() && sagas.empty()) return;
    if (stage_.now() - begun <= (runs_sagas() ? kSagasHealingMax : kHealingMax) &&
        decisions() - before <= kHealingDecisionsMax)
      continue;
    if (!sagas.empty()) throw BrokenInvariant{"I5", "never ended, all being well:" + sagas};
    throw BrokenInvariant{"I1", unfinished.empty() ? "a relay or the network holds something that is over"
                                                   : "never delivered, all being well:" + unfinished};
  }
}

// Fallback files may lie until everything in them was delivered and forgotten.
void World::forget_everything() {
  inside(anybody(), [&](Process& process) { operators_.retain(process, Duration::zero(), 100'000); });
}

// Keys that wait behind a dead letter go on when a person has decided about it.
void World::resolve_blocked_keys() {
  for (int round = 0; round < kRoundsMax; ++round) {
    const int index = anybody();
    for (int i = 0; i < std::ssize(slots_); ++i)
      inside(i, [&](Process& process) { operators_.import(process, file(i)); });
    const auto blocking = operators_.dead(true);
    if (blocking.empty()) return;
    for (const std::string& id : blocking) {
      try {
        inside(index, [&](Process& process) {
          if (stage_.dice.chance(300)) operators_.replay(process, id);
          else operators_.discard(process, id);
        });
      } catch (const Error& error) {
        throw BrokenInvariant{"I1", "a key is blocked by " + id + ", about which nobody can decide: " + error.what()};
      }
      stage_.markers.hit(Marker::key_unblocked);
    }
    run_until_quiet();
  }
  throw BrokenInvariant{"I1", "keys are still blocked after every decision about their dead letters"};
}

// What no code can decide alone goes on when a person has looked at it.
void World::help_parked_sagas() {
  for (int round = 0; round < kRoundsMax; ++round) {
    const auto parked = saga_ledger_.parked();
    if (parked.empty()) return;
    for (const std::string& id : parked) inside(anybody(), [&](Process& process) { process.retry_saga(id); });
    run_until_quiet();
  }
  throw BrokenInvariant{"I5", "sagas are still parked after every help: " + saga_ledger_.parked().front()};
}

}  // namespace skald::sim
