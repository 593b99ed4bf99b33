#include "sim/post_world.h"

#include <map>
#include <utility>

#include "store/tables/landing.h"
#include "store/tables/subscriber.h"

namespace skald::sim {
namespace {

// More than one letter takes, and more than one question.
constexpr int kMany = 600;

}  // namespace

PostWorld::PostWorld(std::uint64_t seed, Workload workload, std::ostream* trace)
    : Scheduler(stage_), stage_(seed, workload, trace), network_(stage_), office_(stage_, network_, *this) {
  machines_[0].name = machines_[1].other = "left";
  machines_[1].name = machines_[0].other = "right";
  for (int i = 0; i < kServices; ++i) add_machine(i);
  add_outside();
  const Rates rates = std::exchange(stage_.plan.rates, {});
  for (int i = 0; i < kServices; ++i) start(i);
  stage_.plan.rates = rates;
}

void PostWorld::add_machine(int index) {
  slots_.emplace_back();
  Machine& here = machine(index);
  here.disk = std::make_unique<RestorableDisk>(stage_, here.name);
  const auto part = [&](std::string_view what, Actor::Kind kind, std::function<Duration()> step,
                        std::function<std::optional<Instant>()> early = {}) {
    actors_.push_back(
        {std::string(what) + " " + here.name, index, kind, stage_.now(), std::move(step), std::move(early)});
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
      [this, index] { return unit(index).steps().wants_relay(); });
  part(
      "post", Actor::Kind::part, [this, index] { return unit(index).steps().post(); },
      [this, index] { return unit(index).steps().wants_post(); });
  part("jobs", Actor::Kind::part, [this, index] { return unit(index).steps().jobs(); });
}

void PostWorld::add_outside() {
  const auto outside = [&](std::string name, std::function<Duration()> step) {
    actors_.push_back({std::move(name), -1, Actor::Kind::outside, stage_.now(), std::move(step)});
  };
  for (int i = 0; i < kServices; ++i)
    outside("writer " + machine(i).name, [this, i] {
      write_notes(i);
      return stage_.dice.between(20ms, 2s);
    });
  outside("operator", [this] {
    const int index = stage_.dice.between(0, kServices - 1);
    work(index, [&](PostUnit& at) { replay_dead(stage_, machine(index).disk->db(), at.db(), at.engine()); });
    return stage_.dice.between(1s, 8s);
  });
  outside("chaos", [this] {
    disturb();
    spoil();
    return stage_.dice.between(500ms, 3s);
  });
}

void PostWorld::write_notes(int index) {
  SimRandom& dice = stage_.dice;
  const std::string key = "k" + std::to_string(dice.below(static_cast<std::size_t>(stage_.plan.keys)));
  const int count = dice.chance(10) ? kMany : dice.between(1, 5);
  work(index, [&](PostUnit& at) { at.write_notes(key, count, machine(index).written); });
}

// Cuts a service off, copies its disk, or has it put back to a copy.
void PostWorld::spoil() {
  SimRandom& dice = stage_.dice;
  Machine& one = dice.pick(machines_);
  if (dice.chance(stage_.plan.rates.nap)) {
    stage_.markers.hit(Marker::service_cut_off);
    network_.cut_off(one.name, dice.between(5s, 120s));
  }
  if (dice.chance(stage_.plan.rates.copy)) one.disk->copy();
  if (!one.disk->has_copy() || !dice.chance(stage_.plan.rates.restore)) return;
  one.is_to_be_restored = true;
  if (const int index = index_of(one.name); slot_of(index).running) kill(index);
}

void PostWorld::restore(Machine& one) {
  one.is_to_be_restored = false;
  one.disk->restore();
  stage_.markers.hit(Marker::service_restored);
  stage_.trace.note(stage_.now(), {"  restored", one.name});
  is_restored_ = true;
  is_to_be_told_ = is_noticeable();
}

// Whether the numbers or chains of some lane do not fit, as no crash would leave them.
bool PostWorld::is_noticeable() {
  bool out = false;
  for (Machine& from : machines_) {
    std::string id;
    std::map<int, LanePlace> places;
    look_at(from.disk->db(), [&](Transaction& tx) {
      id = tables::subscriber::database_id(tx, stage_.engine_random);
      places = tables::subscriber::places(tx, from.other);
    });
    look_at(machine(index_of(from.other)).disk->db(), [&](Transaction& tx) {
      const auto lasts = tables::landing::lasts(tx, id);
      for (const auto& [partition, place] : places) {
        const auto found = lasts.find(partition);
        const LanePlace there = found == lasts.end() ? LanePlace{} : found->second;
        out = out || there.number < place.number || there.number > place.number + 1 ||
              (there.number == place.number && there != place);
      }
    });
  }
  return out;
}

void PostWorld::begin_process(int index) {
  Slot& slot = slot_of(index);
  Machine& here = machine(index);
  if (here.is_to_be_restored) restore(here);
  here.unit = std::make_unique<PostUnit>(PostUnit::Surroundings{
      .stage = stage_,
      .network = network_,
      .office = office_,
      .disk = here.disk->db(),
      .wiring = {.pause = [this, index](Duration time, bool whole) { pause(index, time, whole); },
                 .dying = [&slot] { return slot.dying; },
                 .wrote = [](std::string_view) {},
                 .wake_lost = [](std::span<const Event>) {},
                 .crashes =
                     [&slot] {
                       slot.dying = true;
                       slot.graceful = false;
                     }},
      .alert = [this](std::string_view code, std::string_view text) { alerted(code, text); },
      .name = here.name,
      .other = here.other});
}

void PostWorld::end_process(int index, bool) {
  machine(index).unit.reset();
  office_.clear(machine(index).name);
}

void PostWorld::alerted(std::string_view code, std::string_view text) {
  stage_.trace.note(stage_.now(), {"  alert", code, text});
  if (!code.starts_with("POST_")) return;
  if (!is_restored_ && !broken_) broken_ = BrokenInvariant{"P4", "nothing was restored: " + std::string(text)};
  is_to_be_told_ = false;
  if (code == "POST_STRANGE") return stage_.markers.hit(Marker::strangers_told);
  stage_.markers.hit(Marker::gap_told);
  if (text.find(" 0 events are sent again") == text.npos) stage_.markers.hit(Marker::sent_again_when_restored);
  if (text.find(" 0 had arrived") == text.npos) stage_.markers.hit(Marker::found_when_restored);
}

void PostWorld::observe() {
  if (broken_) throw BrokenInvariant(*broken_);
}

PostSite::Presence PostWorld::presence(std::string_view service) const {
  const int index = index_of(service);
  if (!slot_of(index).running || slot_of(index).dying) return Presence::gone;
  return can_be_asked(index) ? Presence::there : Presence::standing_still;
}

bool PostWorld::open(std::string_view service, const std::function<void(Engine&)>& body) {
  return work(index_of(service), [&](PostUnit& at) { body(at.engine()); });
}

bool PostWorld::work(int index, const std::function<void(PostUnit&)>& body) {
  if (!can_be_asked(index)) return false;
  bool whole = false;
  inside(index, [&] {
    try {
      body(unit(index));
    } catch (const Error& error) {
      stage_.trace.note(stage_.now(), {"  told", error.code()});
    }
    whole = !slot_of(index).dying;
  });
  return whole;
}

}  // namespace skald::sim
