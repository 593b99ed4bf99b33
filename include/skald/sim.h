// Your own sagas in the simulator: everything that can go wrong around them, at every
// place where it can, one run after the other. Link skald::sim beside skald::skald.
//
//   Bank bank;                                        // stands in for what remote steps reach
//   const auto report = skald::sim::explore(place_order(bank), PlaceOrder{.sku = "lamp"}, {
//       .setup = [&](skald::Database& db) { bank = {}; create_shop(db); },
//       .check = [&](skald::sim::Look& look) {
//         look.require(bank.charges() == (look.completed() ? 1 : 0), "charged once, or not at all");
//       }});
//   EXPECT_TRUE(report.ok()) << report;
//
// The engine is the real one, on SQLite in memory; time, chance and faults are simulated,
// in this thread. First nothing goes wrong. Then each step from which there is a way back
// is refused. And in each of these runs, one at a time, this happens:
//
// | at every commit      | the process dies before it; dies after it; lives and does not hear that it |
// |                      | happened; lives and it fails; its transaction runs twice; the deadline     |
// |                      | passes                                                                     |
// | at every local step  | it is busy                                                                 |
// | at every remote call | nobody answers; it is lost on the way there, or its answer on the way back; |
// |                      | it is made twice; it arrives late, after all else; the saga's deadline     |
// |                      | passes, it is cancelled, and then it arrives                               |
// | at every undo, and behind the pivot | it is refused                                               |
//
// After each run: every saga has ended, COMPLETED or COMPENSATED; no lock is left; what was
// done was undone once where the saga went back; a call had one idempotency key in all its
// tries; and your own check holds. `seeds` adds runs in which chance decides: several workers,
// starts at any time, several faults.
//
// Deterministic, if your steps and fakes are: no clock, chance or threads of their own.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "skald/saga.h"
#include "skald/saga_start.h"
#include "skald/saga_view.h"

namespace skald::sim {

// What a check sees: everything that is committed.
class Look {
 public:
  Look(Transaction& tx, std::vector<SagaView> sagas, std::vector<std::string>& violations)
      : tx_(tx), sagas_(std::move(sagas)), violations_(violations) {}

  Transaction& tx() const { return tx_; }
  Transaction* operator->() const { return &tx_; }
  // The first value of the first row; 0 where there is none.
  template <class... Args>
  std::int64_t number(std::string_view sql, const Args&... args) const {
    const Rows rows = tx_.query(sql, args...);
    return rows.empty() ? 0 : rows.get<std::optional<std::int64_t>>(0, 0).value_or(0);
  }

  // Those of Scenario::starts that exist, in that order.
  const std::vector<SagaView>& sagas() const { return sagas_; }
  // All of them are COMPLETED.
  bool completed() const;

  // `sentence` says what must hold; where it does not, the run has gone wrong.
  void require(bool holds, std::string sentence) {
    if (!holds) violations_.push_back(std::move(sentence));
  }

 private:
  Transaction& tx_;
  std::vector<SagaView> sagas_;
  std::vector<std::string>& violations_;
};

// One saga that a client starts. It asks again, as a good client does, where it was not
// told that the saga is there. Its id is options.id, or sim-1, sim-2, …
struct Start {
  saga::Definition definition;
  std::function<std::shared_ptr<void>()> state;
  StartOptions options = {};
};
template <class State>
Start start(const Saga<State>& saga, State state, StartOptions options = {}) {
  return {saga.definition(), [state = std::move(state)] { return std::make_shared<State>(state); }, std::move(options)};
}

struct Scenario {
  // Before every run: creates tables and rows, and puts back all that lies outside of the
  // database.
  std::function<void(Database&)> setup = {};
  // After every run, when all sagas have ended and all late calls have arrived.
  std::function<void(Look&)> check = {};
  // After every commit: what others can see in between.
  std::function<void(Look&)> always = {};
  // Sent to each saga that waits for it; one that is not here never comes.
  struct Signal {
    std::string name, payload = "{}";
  };
  std::vector<Signal> signals = {};
  std::vector<saga::Definition> also = {};   // of child sagas
  std::vector<Start> starts = {};            // all at once, in this order
  int seeds = 0;                             // so many runs by chance besides
  int failures_max = 3;                      // stops after so many
  std::string only = {};                     // a Failure's token: that run alone
};

struct Failure {
  std::string token;                         // for Scenario::only
  std::string schedule;                      // what happened, in words
  std::vector<std::string> violations;       // what did not hold
  std::vector<std::string> story;            // the run, line by line
};

struct Report {
  int runs = 0;
  bool stopped_early = false;                // after failures_max
  std::vector<Failure> failures = {};        // the ones with the fewest faults first
  bool ok() const { return failures.empty(); }
};
std::ostream& operator<<(std::ostream& out, const Report& report);

// Throws Invalid (SIM_SCENARIO, SIM_TOKEN, SAGA_DEFINITION), and what `setup` throws.
Report explore(const Scenario& scenario);
// The same, with one saga.
template <class State>
Report explore(const Saga<State>& saga, State state, Scenario scenario) {
  scenario.starts = {start(saga, std::move(state))};
  return explore(scenario);
}

}  // namespace skald::sim
