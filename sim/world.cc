#include "sim/world.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "http/idempotency.h"
#include "sim/business.h"
#include "sim/signals.h"
#include "store/tables/schema.h"

namespace skald::sim {
namespace {

constexpr int kDepthMax = 2;            // of steps inside of paused steps
constexpr int kNestedDecisionsMax = 120;
constexpr Duration kTogether = 3ms;     // what is due within this may come in any order

std::string fresh_folder(std::uint64_t seed) {
  const std::filesystem::path memory = "/dev/shm";
  const auto base = std::filesystem::is_directory(memory) ? memory : std::filesystem::temp_directory_path();
  const auto folder = base / ("skald-sim-" + std::to_string(::getpid()) + "-" + std::to_string(seed));
  std::filesystem::create_directories(folder);
  return folder.string();
}

}  // namespace

World::World(std::uint64_t seed, Workload workload, std::ostream* trace)
    : stage_(seed, workload, trace),
      ledger_(stage_),
      network_(stage_, ledger_),
      folder_(fresh_folder(seed)),
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
      inside(slot, [&](Process& process) { operators_.act(process, *slots_[static_cast<std::size_t>(slot)].file); });
    return stage_.dice.between(200ms, 2s);
  });
  outside("chaos", [this] { return chaos_step(); });
}

World::~World() {
  slots_.clear();
  std::error_code ignored;
  std::filesystem::remove_all(folder_, ignored);
}

void World::add_machine(int index) {
  Slot& slot = slots_.emplace_back();
  slot.file = std::make_unique<FaultyFile>(stage_, folder_ + "/" + std::to_string(index));
  ledger_.watch(*slot.file);
  const std::string number = std::to_string(index);
  const Instant first = stage_.now() + stage_.dice.between(0ms, 3s);
  actors_.push_back({"start " + number, index, Actor::Kind::start, first, [this, index] {
                       start(index);
                       return Duration::zero();
                     }});
  actors_.push_back({"beat " + number, index, Actor::Kind::beat, first,
                     [this, index] { return slots_[static_cast<std::size_t>(index)].process->beat(); }});
  actors_.push_back({"relay " + number, index, Actor::Kind::relay, first, [this, index] { return relay_step(index); }});
  if (runs_sagas())
    actors_.push_back({"sagas " + number, index, Actor::Kind::sagas, first,
                       [this, index] { return slots_[static_cast<std::size_t>(index)].process->sagas_once(); }});
}

void World::run() {
  while (decisions_ < stage_.plan.decisions) step(Instant::max());
  heal();
  run_until_quiet();
  if (stage_.dice.chance(500)) forget_everything();
  resolve_blocked_keys();
  ledger_.check_end();
  if (!runs_sagas()) return;
  help_parked_sagas();
  provider_.deliver_late();
  saga_ledger_.check_end();
}

std::optional<Instant> World::due(const Actor& actor) const {
  if (actor.busy) return std::nullopt;
  if (actor.kind == Actor::Kind::outside) {
    if (stage_.plan.healed) return std::nullopt;
    return actor.due;
  }
  const Slot& slot = slots_[static_cast<std::size_t>(actor.slot)];
  if (slot.dying || slot.freezes > 0 || (actor.kind == Actor::Kind::start) == (slot.process != nullptr))
    return std::nullopt;
  Instant at = actor.due;
  if (actor.kind == Actor::Kind::relay) {
    if (slot.process->woken()) at = std::min(at, stage_.now());
    if (const auto answer = slot.process->next_answer()) at = std::min(at, *answer);
  }
  if (actor.kind == Actor::Kind::sagas && slot.process->sagas_woken()) at = std::min(at, stage_.now());
  return std::max(at, slot.frozen_until);
}

bool World::step(Instant limit) {
  std::optional<Instant> first = network_.next();
  for (const Actor& actor : actors_) {
    if (const auto at = due(actor); at && (!first || *at < *first)) first = at;
  }
  if (!first || *first > limit) {
    stage_.timeline.advance_to(std::min(limit, stage_.now() + 1h));
    return false;
  }
  stage_.timeline.advance_to(*first);
  ++decisions_;
  network_.deliver_due();
  std::vector<Actor*> ready;
  for (Actor& actor : actors_) {
    if (const auto at = due(actor); at && *at <= stage_.now() + kTogether) ready.push_back(&actor);
  }
  if (!ready.empty()) run_actor(*stage_.dice.pick(ready));
  ledger_.observe();
  return true;
}

void World::run_actor(Actor& actor) {
  stage_.trace.note(stage_.now(), {actor.name});
  actor.busy = true;
  Duration again = 100ms;
  if (actor.kind == Actor::Kind::beat || actor.kind == Actor::Kind::relay || actor.kind == Actor::Kind::sagas) {
    inside(actor.slot, [&](Process&) { again = actor.step(); });
  } else {
    again = actor.step();
  }
  actor.busy = false;
  if (actor.kind != Actor::Kind::start) actor.due = stage_.now() + again;
}

void World::inside(int index, const std::function<void(Process&)>& body) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  ++slot.frames;
  try {
    body(*slot.process);
  } catch (const Crash&) {
    slot.dying = true;
    slot.graceful = false;
  }
  --slot.frames;
  if (slot.process->db().writer_stopped()) slot.dying = true;  // its supervisor starts it again
  if (slot.dying && slot.frames == 0) end_process(index);
}

void World::pause(int index, Duration time, bool whole_process) {
  if (stage_.trace.depth >= kDepthMax) return;
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  const Instant until = stage_.now() + time;
  stage_.trace.note(stage_.now(), {whole_process ? "  frozen" : "  paused", std::to_string(index)});
  ++stage_.trace.depth;
  if (whole_process) ++slot.freezes;
  for (int i = 0; i < kNestedDecisionsMax && stage_.now() < until && step(until);) ++i;
  if (whole_process) --slot.freezes;
  --stage_.trace.depth;
  if (whole_process && time > stage_.plan.options.lease && !stage_.plan.sole)
    stage_.markers.hit(Marker::frozen_past_lease);
}

void World::start(int index) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  slot.process = std::make_unique<Process>(
      Process::Surroundings{.stage = stage_,
                            .ledger = ledger_,
                            .network = network_,
                            .file = *slot.file,
                            .provider = provider_,
                            .index = index,
                            .wiring = {.pause = [this, index](Duration time, bool whole) { pause(index, time, whole); },
                                       .dying = [&slot] { return slot.dying; },
                                       .wrote =
                                           [this, &slot](std::string_view name) {
                                             ledger_.wrote(name);
                                             ledger_.observe();
                                             if (runs_sagas()) saga_ledger_.observe(name);
                                             if (name == "beat")
                                               ledger_.beat_seen(slot.process->worker(), slot.process->beat_began());
                                             if (name == "give partition back") stage_.markers.hit(Marker::handed_over);
                                           },
                                       .wake_lost =
                                           [this](std::span<const Event> events) {
                                             for (const Event& event : events) ledger_.wake_lost(event.id);
                                           }},
                            .announce = [this, index](std::uint64_t partitions) {
                              for (std::size_t i = 0; i < slots_.size(); ++i) {
                                if (static_cast<int>(i) == index || slots_[i].process == nullptr) continue;
                                if (!stage_.dice.chance(stage_.plan.rates.announce_lost))
                                  slots_[i].process->wake(partitions);
                              }
                            }});
  for (Actor& actor : actors_)
    if (actor.slot == index) actor.due = stage_.now();
}

void World::kill(int index) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  slot.dying = true;
  slot.graceful = false;
  if (slot.frames == 0) end_process(index);
}

void World::end_process(int index) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  stage_.trace.note(stage_.now(), {slot.graceful ? "stopped" : "died", std::to_string(index)});
  slot.process.reset();
  if (!slot.graceful) {
    slot.file->lose_unsynced();
    ledger_.check_dead_letters();
  }
  slot.dying = slot.graceful = false;
  slot.frozen_until = {};
  for (Actor& actor : actors_) {
    if (actor.slot == index && actor.kind == Actor::Kind::start)
      actor.due = stage_.now() + stage_.dice.between(50ms, stage_.plan.healed ? Duration(300ms) : Duration(5s));
  }
}

Duration World::relay_step(int index) {
  Slot& slot = slots_[static_cast<std::size_t>(index)];
  const Duration again = slot.process->relay_once();
  const auto beating = std::ranges::find_if(
      actors_, [&](const Actor& actor) { return actor.slot == index && actor.kind == Actor::Kind::beat; });
  if (!slot.graceful || !slot.process->drained() || beating->busy) return again;
  try {
    slot.process->leave();
    stage_.markers.hit(Marker::graceful_stop);
    slot.dying = true;
  } catch (const Error&) {
    // left for the lease to run out
    slot.dying = true;
  }
  return again;
}

int World::anybody() {
  std::vector<int> able;
  for (std::size_t i = 0; i < slots_.size(); ++i) {
    const Slot& slot = slots_[i];
    if (slot.process && !slot.dying && slot.freezes == 0 && slot.frozen_until <= stage_.now())
      able.push_back(static_cast<int>(i));
  }
  return able.empty() ? -1 : stage_.dice.pick(able);
}

}  // namespace skald::sim
