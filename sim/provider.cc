#include "sim/provider.h"

#include "saga/progress.h"
#include "sim/signals.h"
#include "skald/isolation.h"
#include "store/tables/saga.h"

namespace skald::sim {

void Provider::check_call(const Remote& step, bool undo) {
  const std::string& key = step.idempotency_key();
  const std::string what = step.saga_id() + " " + step.context().step + (undo ? " undo" : "");
  if (const auto known = keys_.emplace(what, key).first; known->second != key)
    throw BrokenInvariant{"I7", what + " is asked for as " + key + " and before as " + known->second};
  stage_.look([&](Transaction& tx) {
    const auto row = tables::saga::find(tx, step.saga_id());
    if (!row) throw BrokenInvariant{"I4", what + " is called and its saga is not in the table"};
    if (row->fence != step.fence() || row->owner.empty()) return;  // its caller's no more: that one is late
    const auto progress = from_json<saga::Progress>(row->progress);
    if (!progress.called || progress.undoing != undo)
      throw BrokenInvariant{"I4", what + " is called and the table does not say so"};
  });
  std::int64_t& highest = fences_.emplace(key, step.fence()).first->second;
  if (step.fence() > highest) {
    stage_.markers.hit(undo ? Marker::saga_taken_over_in_undo : Marker::saga_taken_over_in_call);
    if (step.saga_id().find('.') != std::string::npos) stage_.markers.hit(Marker::saga_child_adopted);
  }
  if (step.fence() < highest) stage_.markers.hit(Marker::saga_late_caller);
  highest = std::max(highest, step.fence());
}

void Provider::ponder() {
  if (!stage_.dice.chance(stage_.plan.rates.unclear)) return;
  stage_.markers.hit(Marker::saga_question_unclear);
  throw Unavailable("UNCLEAR", "simulated: nobody knows just now");
}

void Provider::suffer_before(const Remote& step, bool undo, const Wait& wait) {
  check_call(step, undo);
  const Rates& rates = stage_.plan.rates;
  if (stage_.dice.chance(rates.slow * 10)) wait(stage_.dice.between(10ms, 4s));
  if (stage_.dice.chance(rates.announce_lost)) deliver_late();
  if (stage_.dice.chance(rates.server_error)) throw Unavailable("DOWN", "simulated: the provider is down");
  if (stage_.dice.chance(rates.lost)) throw CommitUnknown("NO_ANSWER", "simulated: lost on the way there");
}

void Provider::suffer_after() {
  const Rates& rates = stage_.plan.rates;
  if (stage_.dice.chance(rates.crash_after)) throw Crash{};
  if (stage_.dice.chance(rates.send_answer_lost)) {
    stage_.markers.hit(Marker::bus_answer_lost);
    throw CommitUnknown("NO_ANSWER", "simulated: lost on the way back");
  }
}

void Provider::act(const Remote& step, Manner manner, const Wait& wait) {
  suffer_before(step, false, wait);
  if (manner.kills && !helped_.contains(step.saga_id())) throw Crash{};
  if (manner.declined) throw Refused("DECLINED", "simulated: no money");
  const Action action{step.saga_id(), step.idempotency_key()};
  if (stage_.dice.chance(stage_.plan.rates.late)) {
    late_.push_back(action);
    throw CommitUnknown("NO_ANSWER", "simulated: on its way for long");
  }
  perform(action);
  suffer_after();
}

void Provider::perform(const Action& action) {
  stage_.look([&](Transaction& tx) {
    const Passage passage = pass_barrier(tx, action.saga_id, action.key, Side::action);
    if (passage == Passage::overtaken) stage_.markers.hit(Marker::late_action_kept_out);
    if (passage != Passage::first) return;
    tx.execute("INSERT INTO sim_charge (key, saga, stands) VALUES ($1, $2, 1)", action.key, action.saga_id);
    const Rows times = tx.query("SELECT COUNT(*) FROM sim_charge WHERE key = $1", action.key);
    if (times.get<int>(0, 0) > 1) throw BrokenInvariant{"I7", action.key + " was done twice"};
  });
}

void Provider::cancel(const Remote& step, bool stuck, const Wait& wait) {
  suffer_before(step, true, wait);
  if (stuck && !helped_.contains(step.saga_id())) throw Refused("STUCK", "simulated: cannot be cancelled");
  const std::string undo = "/undo";
  const std::string& key = step.idempotency_key();
  const std::string action = key.substr(0, key.size() - undo.size());
  stage_.look([&](Transaction& tx) {
    if (pass_barrier(tx, step.saga_id(), action, Side::undo) == Passage::first)
      tx.execute("UPDATE sim_charge SET stands = 0 WHERE key = $1", action);
  });
  suffer_after();
}

void Provider::deliver_late() {
  for (const Action& action : std::exchange(late_, {})) perform(action);
}

}  // namespace skald::sim
