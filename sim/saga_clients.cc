#include "sim/saga_clients.h"

namespace skald::sim {

SimOrder SagaClients::draw_order() {
  static constexpr std::string_view locks[] = {"", "", "shared", "exclusive"};
  static constexpr std::string_view policies[] = {"wait", "wait", "retry", "reject"};
  SimRandom& dice = stage_.dice;
  return {"p" + std::to_string(dice.below(kProducts)), dice.between(1, 6), std::string(dice.pick(locks)),
          std::string(dice.pick(policies)), dice.chance(150)};
}

SimTransfer SagaClients::draw_transfer(std::string_view prefix) {
  SimRandom& dice = stage_.dice;
  const auto from = dice.below(kAccounts);
  const auto to = (from + 1 + dice.below(kAccounts - 1)) % kAccounts;
  const std::string name(prefix);
  return {name + std::to_string(from), name + std::to_string(to), dice.between(1, 50), 0, 0,
          dice.between(0, 300),        dice.chance(150)};
}

template <class State>
void SagaClients::start(Process& process, const std::string& type, State state) {
  try {
    const Started begun =
        process.runner().start(process.registry().latest(type), std::make_shared<State>(std::move(state)), {});
    ledger_.started(begun.id);
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  client told", error.code()});
  }
}

void SagaClients::act(Process& process) {
  switch (stage_.dice.below(6)) {
    case 0:
    case 1: return start(process, "sim.order", draw_order());
    case 2: return start(process, "sim.transfer", draw_transfer("a"));
    case 3: return start(process, "sim.cross", draw_transfer("x"));
    case 4: return start(process, "sim.trip", SimTrip{draw_order(), false});
    default: return signal(process);
  }
}

void SagaClients::signal(Process& process) {
  for (const std::string& id : ledger_.awaiting()) {
    try {
      process.db().write("signal", [&](Transaction& tx) { process.runner().signal(tx, id, "go", "{}", "s1"); });
      process.runner().note_due(Duration::zero());
    } catch (const Error& error) {
      stage_.trace.note(stage_.now(), {"  client told", error.code()});
    }
  }
}

}  // namespace skald::sim
