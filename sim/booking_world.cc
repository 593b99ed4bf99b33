#include "sim/booking_world.h"

#include <algorithm>

#include "skald/checklist.h"

namespace skald::sim {
namespace {

constexpr Duration kHealingMax = 900s;
constexpr int kHealingDecisionsMax = 30000;
constexpr int kRoundsMax = 20;

Service service_of(std::string_view name) {
  return *std::ranges::find(kServices, name, [](Service one) { return enum_name(one); });
}

}  // namespace

BookingWorld::BookingWorld(std::uint64_t seed, Workload workload, std::ostream* trace)
    : Scheduler(stage_),
      stage_(seed, workload, trace),
      disks_(stage_),
      ledger_(stage_, disks_),
      network_(stage_),
      office_(stage_, network_, *this),
      clients_(stage_, disks_, *this, ledger_) {
  for (const Service service : kServices) add_machine(service);
  open_slots();
  add_outside();
}

void BookingWorld::add_machine(Service service) {
  const int index = static_cast<int>(service);
  const std::string name(enum_name(service));
  slots_.emplace_back();
  const auto part = [&](std::string_view what, Actor::Kind kind, std::function<Duration()> step,
                        std::function<std::optional<Instant>()> early = {}) {
    actors_.push_back({std::string(what) + " " + name, index, kind, stage_.now(), std::move(step), std::move(early)});
  };
  part("start", Actor::Kind::start, [this, index] {
    start(index);
    return Duration::zero();
  });
  part("beat", Actor::Kind::beat, [this, index] { return unit(index).steps().beat(); });
  part(
      "relay", Actor::Kind::part,
      [this, index] {
        const Duration again = unit(index).steps().relay();
        stop_if_drained(index);
        return again;
      },
      [this, index] { return unit(index).wants_relay(); });
  part(
      "post", Actor::Kind::part, [this, index] { return unit(index).steps().post(); },
      [this, index] { return unit(index).steps().wants_post(); });
  part("jobs", Actor::Kind::part, [this, index] { return unit(index).steps().jobs(); });
}

void BookingWorld::add_outside() {
  const auto outside = [&](std::string name, std::function<Duration()> step) {
    actors_.push_back({std::move(name), -1, Actor::Kind::outside, stage_.now(), std::move(step)});
  };
  for (const char* name : {"client a", "client b"})
    outside(name, [this] {
      clients_.act();
      return stage_.dice.between(50ms, 2s);
    });
  outside("operator", [this] {
    clients_.operate();
    return stage_.dice.between(1s, 8s);
  });
  outside("chaos", [this] {
    disturb();
    if (stage_.dice.chance(stage_.plan.rates.nap)) {
      stage_.markers.hit(Marker::service_cut_off);
      network_.cut_off(enum_name(stage_.dice.pick(kServices)), stage_.dice.between(5s, 120s));
    }
    return stage_.dice.between(500ms, 3s);
  });
}

// Before anything fails.
void BookingWorld::open_slots() {
  const Rates rates = std::exchange(stage_.plan.rates, {});
  for (int i = 0; i < std::ssize(kServices); ++i) start(i);
  clients_.open_slots();
  stage_.plan.rates = rates;
}

void BookingWorld::begin_process(int index) {
  const Service service = kServices[static_cast<std::size_t>(index)];
  Slot& slot = slot_of(index);
  units_[static_cast<std::size_t>(index)] = std::make_unique<BookingUnit>(
      service, BookingUnit::Surroundings{
                   .stage = stage_,
                   .network = network_,
                   .office = office_,
                   .disk = disks_.of(service),
                   .wiring = {.pause = [this, index](Duration time, bool whole) { pause_noting(index, time, whole); },
                              .dying = [&slot] { return slot.dying; },
                              .wrote = [this, service](std::string_view name) { committed(service, name); },
                              .wake_lost = [](std::span<const Event>) {},
                              .crashes =
                                  [&slot] {
                                    slot.dying = true;
                                    slot.graceful = false;
                                  }},
                   .customers = [this](const Message& message) { ledger_.heard(message); },
                   .sends = [this](const Letter& letter) { sent(letter); },
                   .alert = [this](std::string_view code, std::string_view text) { alerted(code, text); },
                   .ask_course = [this](const Request& request) { return ask_course(request); }});
}

void BookingWorld::end_process(int index, bool) {
  units_[static_cast<std::size_t>(index)].reset();
  office_.clear(enum_name(kServices[static_cast<std::size_t>(index)]));
}

void BookingWorld::committed(Service service, std::string_view name) {
  if (name == "learn slot") stage_.markers.hit(Marker::copy_stale);
  if (service != Service::course) return;
  try {
    ledger_.check_seats();
  } catch (const BrokenInvariant& broken) {
    if (!broken_) broken_ = broken;
  }
}

// What others do meanwhile runs inside of this process's request: a bug that it shows must not
// end in the answer to that.
void BookingWorld::pause_noting(int index, Duration time, bool whole_process) {
  try {
    pause(index, time, whole_process);
  } catch (const BrokenInvariant& broken) {
    if (!broken_) broken_ = broken;
    throw;
  } catch (const std::exception& error) {
    if (!broken_) broken_ = BrokenInvariant{"engine", std::string("an error reached the top: ") + error.what()};
    throw;
  }
}

void BookingWorld::observe() {
  if (broken_) throw BrokenInvariant(*broken_);
}

bool BookingWorld::work(Service service, const std::function<void(BookingUnit&)>& body) {
  const int index = static_cast<int>(service);
  if (!can_be_asked(index)) return false;
  bool whole = false;
  inside(index, [&] {
    body(unit(index));
    whole = !slot_of(index).dying;
  });
  return whole;
}

std::optional<Response> BookingWorld::call(Service service, const Caller& caller, Request request) {
  Response answer;
  stage_.trace.note(stage_.now(), {"  call", caller.subject, request.method, request.path, request.body});
  if (!work(service, [&](BookingUnit& at) { answer = at.call(caller, std::move(request)); })) return std::nullopt;
  stage_.trace.note(stage_.now(), {"  answer", std::to_string(answer.status), answer.body});
  return answer;
}

Response BookingWorld::ask_course(const Request& request) {
  const bool lost = network_.is_cut_off("booking") || network_.is_cut_off("course");
  const auto answer =
      lost ? std::nullopt : call(Service::course, {.role = Role::system, .subject = "booking"}, request);
  if (!answer) throw Unavailable("COURSE_UNAVAILABLE", "simulated: course does not answer");
  return *answer;
}

// Nothing is restored here: nobody may be told so.
void BookingWorld::alerted(std::string_view code, std::string_view text) {
  stage_.trace.note(stage_.now(), {"  alert", code, text});
  if (code.starts_with("POST_") && !broken_) broken_ = BrokenInvariant{"B12", std::string(text)};
}

void BookingWorld::sent(const Letter& letter) {
  for (const Message& message : letter.events)
    if (message.event.type == "slot.release" && !message.event.id.starts_with(BookingClients::kAgain))
      releases_[message.event.subject].insert(message.event.id);
}

PostSite::Presence BookingWorld::presence(std::string_view service) const {
  const int index = static_cast<int>(service_of(service));
  if (!slot_of(index).running || slot_of(index).dying) return Presence::gone;
  return can_be_asked(index) ? Presence::there : Presence::standing_still;
}

bool BookingWorld::open(std::string_view service, const std::function<void(Engine&)>& body) {
  return work(service_of(service), [&](BookingUnit& at) { body(at.engine()); });
}

void BookingWorld::run() {
  while (decisions() < stage_.plan.decisions) step(Instant::max());
  heal();
  run_until_quiet();
  for (int round = 0; help(); ++round) {
    if (round == kRoundsMax) throw BrokenInvariant{"B7", "dead letters still need help after every help"};
    run_until_quiet();
  }
  ledger_.check_end(releases_);
  for (const Service service : kServices) check_time(disks_.of(service));
  clients_.check_end();
  const auto answer = call(Service::booking, kAdmin, request_of("GET", "/booking/invariants"));
  for (const Check& check : from_json<Invariants>(answer.value().body).checks)
    if (!check.ok) throw BrokenInvariant{"B8", "/booking/invariants: " + check.name + ": " + check.detail};
}

void BookingWorld::heal() {
  stage_.trace.note(stage_.now(), {"everything heals"});
  stage_.plan.rates = {};
  stage_.plan.healed = true;
  network_.heal();
  bring_back();
}

void BookingWorld::run_until_quiet() {
  const Instant begun = stage_.now();
  const int before = decisions();
  for (;;) {
    for (int i = 0; i < 20; ++i) step(Instant::max());
    const std::string unfinished = ledger_.unfinished();
    bool idle = network_.empty();
    for (const auto& unit : units_) idle = idle && unit && unit->idle();
    if (idle && unfinished.empty()) return;
    if (stage_.now() - begun > kHealingMax || decisions() - before > kHealingDecisionsMax)
      throw BrokenInvariant{"B7", "never ended, all being well:" + unfinished};
  }
}

bool BookingWorld::help() {
  bool helped = false;
  for (const Service service : kServices)
    work(service, [&](BookingUnit& at) { helped = clients_.replay_dead(service, at) || helped; });
  return helped;
}

}  // namespace skald::sim
