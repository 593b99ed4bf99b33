#include "sim/agentflow/flow_world.h"

#include "skald/checklist.h"

namespace skald::sim {
namespace {

constexpr Duration kHealingMax = 3600s;
constexpr int kHealingDecisionsMax = 30000;
constexpr int kRoundsMax = 20;
const Caller kFlowAdmin{.role = Role::admin, .subject = "ada"};

}  // namespace

FlowWorld::FlowWorld(std::uint64_t seed, Workload workload, std::ostream* trace)
    : Scheduler(stage_),
      stage_(seed, workload, trace),
      git_(stage_),
      agents_(stage_, git_),
      ledger_(stage_, git_, agents_),
      clients_(stage_, git_, *this) {
  add_machine();
  prepare();
  add_outside();
}

void FlowWorld::add_machine() {
  slots_.emplace_back();
  const auto part = [&](std::string name, Actor::Kind kind, std::function<Duration()> step,
                        std::function<bool()> wanted = {}) {
    std::function<std::optional<Instant>()> early;
    if (wanted) early = [this, wanted] { return wanted() ? std::optional(stage_.now()) : std::nullopt; };
    actors_.push_back({std::move(name), 0, kind, stage_.now(), std::move(step), std::move(early)});
  };
  part("start", Actor::Kind::start, [this] {
    start(0);
    return Duration::zero();
  });
  part("beat", Actor::Kind::beat, [this] { return unit_->beat(); });
  part(
      "relay", Actor::Kind::part,
      [this] {
        const Duration again = unit_->relay();
        stop_if_drained(0);
        return again;
      },
      [this] { return unit_->wants_relay(); });
  part("jobs", Actor::Kind::part, [this] { return unit_->jobs(); });
  part(
      "saga timers", Actor::Kind::part, [this] { return unit_->poll_sagas(); },
      [this] { return unit_->steps().sagas().poll_woken(); });
  for (const char* name : {"sagas a", "sagas b", "sagas c"})
    part(
        name, Actor::Kind::part, [this] { return unit_->run_saga(); },
        [this] { return unit_->steps().sagas().run_woken(); });
  part("receive", Actor::Kind::part, [this] { return unit_->receive(); }, [this] { return unit_->has_agents_news(); });
}

void FlowWorld::add_outside() {
  const auto outside = [&](std::string name, std::function<Duration()> step) {
    actors_.push_back({std::move(name), -1, Actor::Kind::outside, stage_.now(), std::move(step)});
  };
  for (const char* name : {"client a", "client b"})
    outside(name, [this] {
      clients_.act();
      return stage_.dice.between(50ms, 3s);
    });
  outside("person", [this] {
    clients_.work_beside();
    return stage_.dice.between(1s, 20s);
  });
  outside("chaos", [this] {
    disturb();
    if (stage_.dice.chance(stage_.plan.rates.interrupted)) agents_.interrupt_one();
    if (stage_.dice.chance(stage_.plan.rates.reboot)) {
      agents_.reboot();
      if (can_be_asked(0)) kill(0);
    }
    return stage_.dice.between(500ms, 4s);
  });
}

// Before anything fails.
void FlowWorld::prepare() {
  const Rates rates = std::exchange(stage_.plan.rates, {});
  start(0);
  clients_.prepare();
  stage_.plan.rates = rates;
}

void FlowWorld::begin_process(int index) {
  Slot& slot = slot_of(index);
  unit_ = std::make_unique<FlowUnit>(
      FlowUnit::Surroundings{.stage = stage_,
                             .git = git_,
                             .agents = agents_,
                             .outages = outages_,
                             .wiring = {.pause = [this](Duration time, bool whole) { pause_noting(time, whole); },
                                        .dying = [&slot] { return slot.dying; },
                                        .wrote = [this](std::string_view) { ledger_.observe(); },
                                        .wake_lost = [](std::span<const Event>) {},
                                        .crashes =
                                            [&slot] {
                                              slot.dying = true;
                                              slot.graceful = false;
                                            }},
                             .wait = [this](Duration time) { wait(time); }});
}

void FlowWorld::end_process(int, bool) { unit_.reset(); }

void FlowWorld::drain(int) {
  unit_->steps().drain();
  unit_->steps().sagas().drain();
}

// What others do meanwhile runs inside of this process's request: a bug that it shows must not end in the answer to that.
void FlowWorld::pause_noting(Duration time, bool whole_process) {
  try {
    pause(0, time, whole_process);
  } catch (const BrokenInvariant& broken) {
    if (!broken_) broken_ = broken;
    throw;
  }
}

// Time passes also where steps are nested so deep that nobody else runs.
void FlowWorld::wait(Duration time) {
  const Instant until = stage_.now() + time;
  pause_noting(time, false);
  stage_.timeline.advance_to(until);
  if (!slot_of(0).dying) return;
  throw Crash{};
}

void FlowWorld::observe() {
  if (ledger_.broken()) throw BrokenInvariant(*ledger_.broken());
  if (broken_) throw BrokenInvariant(*broken_);
}

bool FlowWorld::work(const std::function<void(FlowUnit&)>& body) {
  if (!can_be_asked(0)) return false;
  bool whole = false;
  inside(0, [&] {
    body(*unit_);
    whole = !slot_of(0).dying;
  });
  return whole;
}

std::optional<Response> FlowWorld::call(Request request) {
  Response answer;
  stage_.trace.note(stage_.now(), {"  call", request.method, request.path, without_folder(stage_, request.body)});
  if (!work([&](FlowUnit& unit) { answer = unit.call(kFlowAdmin, std::move(request)); })) return std::nullopt;
  stage_.trace.note(stage_.now(), {"  answer", std::to_string(answer.status), without_folder(stage_, answer.body)});
  return answer;
}

void FlowWorld::run() {
  while (decisions() < stage_.plan.decisions) step(Instant::max());
  heal();
  run_until_quiet();
  ledger_.check_end();
  check_invariants();
  check_time(stage_.disk);
  clients_.check_end();
  clients_.delete_everything([this] { run_until_quiet(); });
  ledger_.check_nothing_left();
}

void FlowWorld::heal() {
  stage_.trace.note(stage_.now(), {"everything heals"});
  stage_.plan.rates = {};
  stage_.plan.healed = true;
  clients_.leave_repositories();
  bring_back();
}

void FlowWorld::run_until_quiet() {
  const Instant begun = stage_.now();
  const int before = decisions();
  for (int rounds = 0;;) {
    for (int i = 0; i < 20; ++i) step(Instant::max());
    if (!unit_) continue;
    clients_.answer_questions();
    const std::string unfinished = ledger_.unfinished();
    ledger_.check_ends_told(begun);
    if (unfinished.empty() && unit_->idle()) {
      if (!help()) return;
      if (++rounds == kRoundsMax) throw BrokenInvariant{"F11", "something still needs help after every help"};
    }
    if (stage_.now() - begun > kHealingMax || decisions() - before > kHealingDecisionsMax)
      throw BrokenInvariant{"F1", "never ended, all being well:" + unfinished};
  }
}

bool FlowWorld::help() {
  const auto sagas = ledger_.crashed_sagas();
  const auto events = ledger_.crashed_events();
  work([&](FlowUnit& unit) {
    unit.db().write("help", [&](Transaction& tx) {
      for (const std::string& id : sagas) unit.engine().sagas().retry(tx, id, "sim");
      for (const std::string& id : events) unit.engine().replay(tx, id, "sim");
    });
    unit.steps().sagas().note_due(Duration::zero());
  });
  return !sagas.empty() || !events.empty();
}

void FlowWorld::check_invariants() {
  Request request;
  request.method = "GET";
  request.path = "/agentflow/invariants";
  const auto answer = call(std::move(request));
  for (const Check& check : from_json<Invariants>(answer.value().body).checks)
    if (!check.ok) throw BrokenInvariant{"F10", "/agentflow/invariants: " + check.name + ": " + check.detail};
}

}  // namespace skald::sim
