#include "sim/saga_clients.h"

#include "saga/progress.h"

namespace skald::sim {
namespace {

constexpr int kSignalsPerTrip = 3;   // one more than it waits for

}  // namespace

SimOrder SagaClients::draw_order() {
  static constexpr std::string_view locks[] = {"", "", "shared", "exclusive"};
  static constexpr std::string_view policies[] = {"wait", "wait", "retry", "reject"};
  SimRandom& dice = stage_.dice;
  return {.sku = "p" + std::to_string(dice.below(kProducts)),
          .quantity = dice.between(1, 6),
          .lock = std::string(dice.pick(locks)),
          .when_busy = std::string(dice.pick(policies)),
          .declined = dice.chance(150),
          .kills = dice.chance(stage_.plan.rates.poison),
          .stubborn = dice.chance(150) ? dice.between(1, 3) : 0,
          .forsaken = dice.chance(stage_.plan.rates.doomed / 2)};
}

SimTransfer SagaClients::draw_transfer(std::string_view prefix) {
  SimRandom& dice = stage_.dice;
  const auto from = dice.below(kAccounts);
  const auto to = (from + 1 + dice.below(kAccounts - 1)) % kAccounts;
  const std::string name(prefix);
  return {.from = name + std::to_string(from),
          .to = name + std::to_string(to),
          .amount = dice.between(1, 50),
          .think_ms = dice.between(0, 300),
          .refused = dice.chance(150),
          .locked = stage_.plan.locked()};
}

SimTrip SagaClients::draw_trip() {
  SimRandom& dice = stage_.dice;
  return {.order = draw_order(),
          .holds = dice.chance(400) ? "p" + std::to_string(dice.below(kProducts)) : "",
          .stuck = dice.chance(stage_.plan.rates.unacceptable),
          .grounded = dice.chance(200)};
}

template <class State>
void SagaClients::start(Process& process, const std::string& type, State state, std::string key) {
  const auto on_duplicate = stage_.dice.chance(700) ? OnDuplicate::join : OnDuplicate::refuse;
  try {
    const auto& definition = process.registry().latest(type);
    const auto owned = std::make_shared<State>(std::move(state));
    const StartOptions options{std::move(key), on_duplicate};
    Started begun;
    if (stage_.dice.chance(300)) {
      process.db().write("start in",
                         [&](Transaction& tx) { begun = process.runner().start_in(tx, definition, owned, options); });
      process.runner().note_due(Duration::zero());
    } else {
      begun = process.runner().start(definition, owned, options);
    }
    ledger_.started(begun.id);
    if (begun.joined) stage_.markers.hit(Marker::saga_joined);
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  client told", error.code()});
  }
}

void SagaClients::act(Process& process) {
  const auto key = [&](std::string_view name) {
    return stage_.dice.chance(500) ? "" : std::string(name) + std::to_string(stage_.dice.below(6));
  };
  if (!stage_.plan.locked()) return start(process, "sim.transfer", draw_transfer("a"), "");
  switch (stage_.dice.below(9)) {
    case 0:
    case 1: return start(process, "sim.order", draw_order(), key("order "));
    case 2: return start(process, "sim.transfer", draw_transfer("a"), "");
    case 3: return start(process, "sim.cross", draw_transfer("x"), "");
    case 4: return start(process, "sim.trip", draw_trip(), key("trip "));
    case 5: return compensate(process);
    case 6: return start(process, "sim.guard", draw_transfer("x"), "");
    default: return signal(process);
  }
}

// Trips that wait and trips that do not yet; and others, whom it only disturbs.
void SagaClients::signal(Process& process) {
  for (const std::string& id : ledger_.live("sim.trip"))
    if (stage_.dice.chance(700)) send(process, id, std::to_string(stage_.dice.between(1, kSignalsPerTrip)));
  for (const std::string& id : ledger_.live("sim.transfer"))
    if (stage_.dice.chance(100)) send(process, id, "1");
}

// A person wants it undone; whether that can be is not for them to know.
void SagaClients::compensate(Process& process) {
  const auto live = ledger_.live(stage_.dice.chance(500) ? "sim.order" : "sim.trip");
  if (live.empty()) return;
  const std::string id = stage_.dice.pick(live);
  try {
    process.db().write("compensate", [&](Transaction& tx) { process.runner().compensate(tx, id, "simulated"); });
    process.runner().note_due(Duration::zero());
    stage_.markers.hit(Marker::saga_undone_by_hand);
  } catch (const Error& error) {
    if (error.code() == "NO_WAY_BACK") stage_.markers.hit(Marker::saga_no_way_back);
    stage_.trace.note(stage_.now(), {"  operator told", error.code()});
  }
}

void SagaClients::send(Process& process, const std::string& saga_id, const std::string& signal) {
  try {
    bool in_time = false, waits = false;
    process.db().write("signal", [&](Transaction& tx) {
      process.runner().signal(tx, saga_id, "go", signal, "s" + signal);
      const auto row = *tables::saga::find(tx, saga_id);
      const auto progress = from_json<saga::Progress>(row.progress);
      in_time = !progress.undoing && row.error_code.empty();
      waits = row.status == SagaStatus::WAITING;
    });
    process.runner().note_due(Duration::zero());
    if (in_time) ledger_.signalled(saga_id, signal);
    if (in_time && !waits) stage_.markers.hit(Marker::signal_before_await);
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  client told", error.code()});
  }
}

}  // namespace skald::sim
