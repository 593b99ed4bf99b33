#include "sim/world.h"

#include "http/idempotency.h"
#include "sim/business.h"
#include "store/tables/schema.h"

namespace skald::sim {

World::World(std::uint64_t seed, Workload workload, std::ostream* trace)
    : Scheduler(stage_),
      stage_(seed, workload, trace),
      ledger_(stage_),
      network_(stage_, ledger_),
      clients_(stage_, ledger_),
      operators_(stage_),
      provider_(stage_),
      saga_ledger_(stage_),
      saga_clients_(stage_, saga_ledger_) {
  stage_.disk.migrate(tables::kComponent, tables::migrations());
  http::migrate_api_keys(stage_.disk);
  create_business_tables(stage_.disk);
  if (runs_sagas()) create_saga_tables(stage_.disk);
  for (int slot = 0; slot < stage_.plan.processes; ++slot) add_machine(slot);
  const auto outside = [&](std::string name, std::function<Duration()> step) {
    actors_.push_back({std::move(name), -1, Actor::Kind::outside, stage_.now(), std::move(step)});
  };
  for (const char* name : {"client a", "client b"}) {
    outside(name, [this] {
      if (const int slot = anybody(); slot >= 0)
        inside(slot, [&](Process& process) {
          if (runs_sagas()) saga_clients_.act(process);
          else clients_.act(process);
        });
      return stage_.dice.between(20ms, 500ms);
    });
  }
  outside("operator", [this] {
    if (const int slot = anybody(); slot >= 0)
      inside(slot, [&](Process& process) { operators_.act(process, file(slot)); });
    return stage_.dice.between(200ms, 2s);
  });
  outside("chaos", [this] { return chaos_step(); });
}

void World::add_machine(int index) {
  slots_.emplace_back();
  Machine& machine = machines_.emplace_back();
  machine.file = std::make_unique<FaultyFile>(stage_, stage_.folder.file(std::to_string(index)));
  ledger_.watch(*machine.file);
  const std::string number = std::to_string(index);
  const Instant first = stage_.now() + stage_.dice.between(0ms, 3s);
  actors_.push_back({"start " + number, index, Actor::Kind::start, first, [this, index] {
                       start(index);
                       return Duration::zero();
                     }});
  actors_.push_back(
      {"beat " + number, index, Actor::Kind::beat, first, [this, index] { return process(index).beat(); }});
  actors_.push_back({"relay " + number, index, Actor::Kind::part, first, [this, index] { return relay_step(index); },
                     [this, index] { return process(index).woken() ? stage_.now() : process(index).next_answer(); }});
  if (runs_sagas())
    actors_.push_back(
        {"sagas " + number, index, Actor::Kind::part, first, [this, index] { return process(index).sagas_once(); },
         [this, index] { return process(index).sagas_woken() ? std::optional(stage_.now()) : std::nullopt; }});
}

void World::run() {
  while (decisions() < stage_.plan.decisions) step(Instant::max());
  heal();
  run_until_quiet();
  if (stage_.dice.chance(500)) forget_everything();
  resolve_blocked_keys();
  ledger_.check_end();
  check_time(stage_.disk);
  if (!runs_sagas()) return;
  help_parked_sagas();
  provider_.deliver_late();
  saga_ledger_.check_end();
}

void World::begin_process(int index) {
  Slot& slot = slot_of(index);
  Machine& machine = machines_[static_cast<std::size_t>(index)];
  machine.process = std::make_unique<Process>(Process::Surroundings{
      .stage = stage_,
      .ledger = ledger_,
      .network = network_,
      .file = *machine.file,
      .provider = provider_,
      .index = index,
      .wiring = {.pause = [this, index](Duration time, bool whole) { pause(index, time, whole); },
                 .dying = [&slot] { return slot.dying; },
                 .wrote =
                     [this, &machine](std::string_view name) {
                       ledger_.wrote(name);
                       ledger_.observe();
                       if (runs_sagas()) saga_ledger_.observe(name);
                       if (name == "beat") ledger_.beat_seen(machine.process->worker(), machine.process->beat_began());
                       if (name == "give partition back") stage_.markers.hit(Marker::handed_over);
                     },
                 .wake_lost =
                     [this](std::span<const Event> events) {
                       for (const Event& event : events) ledger_.wake_lost(event.id);
                     }},
      .announce = [this, index](std::uint64_t partitions) {
        for (int i = 0; i < std::ssize(slots_); ++i) {
          if (i == index || !slot_of(i).running) continue;
          if (!stage_.dice.chance(stage_.plan.rates.announce_lost)) process(i).wake(partitions);
        }
      }});
}

void World::end_process(int index, bool graceful) {
  machines_[static_cast<std::size_t>(index)].process.reset();
  if (graceful) return;
  file(index).lose_unsynced();
  ledger_.check_dead_letters();
}

Duration World::relay_step(int index) {
  const Duration again = process(index).relay_once();
  stop_if_drained(index);
  return again;
}

}  // namespace skald::sim
