// Runner: what people and other code decide about a saga.
#include "env/seam.h"
#include "saga/lacking.h"
#include "saga/recording.h"
#include "saga/runner.h"
#include "store/tables/shortage.h"
#include "store/tables/signal.h"

namespace skald::saga {
namespace {

tables::saga::Row live_saga(Transaction& tx, std::string_view id) {
  auto row = seam::holds(seam::Rule::signal_meets_row) ? tables::saga::find_locked(tx, id) : tables::saga::find(tx, id);
  if (!row) throw NotFound("SAGA_NOT_FOUND", "there is no saga with this id");
  if (has_ended(row->status)) throw Conflict("SAGA_ENDED", "the saga has ended: nothing about it can be changed");
  return std::move(*row);
}

// It waits at once, and nobody's code is run before: the starter's transaction can do that.
bool is_born_waiting(const Definition& definition) {
  for (const Step& step : definition.steps) {
    if (!step.holds.empty()) return false;
    if (step.kind == Kind::await) return true;
    if (step.kind != Kind::local || step.run) return false;
  }
  return false;
}

}  // namespace

Started Runner::start_in(Transaction& tx, const Definition& definition, std::shared_ptr<void> state,
                         const StartOptions& options) {
  const Handle saga = make(definition, std::move(state), options);
  tables::saga::Row& row = saga->row;
  if (const auto live = saga->unique_key ? tables::saga::find_live(tx, row.type, row.key) : std::nullopt) {
    if (options.on_duplicate == OnDuplicate::refuse) throw already_runs();
    return {live->id, live->status, true, {}};
  }
  row.started_at = tx.now();
  if (is_born_waiting(definition)) {
    saga->unique_key = false;  // that was looked at
    run_in(tx, *saga, std::nullopt);
    return {row.id, row.status, false, {}};
  }
  row.wake_at = tx.now();
  if (definition.deadline) row.deadline_at = tx.now() + *definition.deadline;
  row.progress = to_json(saga->progress);
  row.state = definition.codec.write(saga->state.get());
  tables::saga::insert(tx, row);
  record_begin(*saga);
  store_recorded(tx, *saga);
  look_after(tx);
  return {row.id, row.status, false, {}};
}

// A group of a saga that nobody owns, without any code of its own, in somebody's transaction.
void Runner::run_in(Transaction& tx, Instance& saga, std::optional<std::string> signal) {
  Trial trial;
  trial.signal = std::move(signal);
  Group group(env_, tx, saga, trial, limits_);
  const After after = group.run({});
  if (!group.woken().empty()) look_after(tx);
  if (group.wakes_in()) tx.after_commit([this, in = *group.wakes_in()] { look_at(in); });
  if (after == After::ended) tx.after_commit([this] { env_.observer.count("sagas_completed_total"); });
  for (const Span& span : saga.spans) tx.after_commit([this, span] { env_.observer.span(span); });
}

// What has changed is due when the transaction has committed.
void Runner::look_after(Transaction& tx) {
  tx.after_commit([this] {
    look_at(Duration::zero());
    if (hooks_.worker().empty() && hooks_.announce) hooks_.announce();
  });
}

// It waits for just this, and when it has it there is nothing left to run.
bool Runner::ends_by(const tables::saga::Row& row, std::string_view signal) const {
  if (!row.owner.empty() || row.status != SagaStatus::WAITING || row.deadline_at) return false;
  const auto found = registry_.all().find({row.type, row.revision});
  if (found == registry_.all().end()) return false;
  const Step& last = found->second.steps.back();
  const auto progress = from_json<Progress>(row.progress);
  return last.kind == Kind::await && last.signal == signal && !last.receive && last.holds.empty() &&
         !progress.undoing && progress.called &&
         static_cast<std::size_t>(progress.step) + 1 == found->second.steps.size();
}

// False: another transaction is at one of its locks just now, and nothing has happened.
bool Runner::end_in(Transaction& tx, const tables::saga::Row& row, std::string_view payload) {
  try {
    run_in(tx, *load(row), std::string(payload));
  } catch (const PlaceTaken&) {
    return false;  // only who holds nothing else may wait for that one: a worker does
  }
  return true;
}

void Runner::signal(Transaction& tx, std::string_view saga_id, std::string_view name, std::string_view payload,
                    std::string_view id) {
  const auto row = live_saga(tx, saga_id);
  if (row.status != SagaStatus::WAITING && !seam::holds(seam::Rule::signal_kept)) return;
  if (ends_by(row, name) && end_in(tx, row, payload)) return;
  if (!tables::signal::insert(tx, id, saga_id, name, payload)) return;
  if (row.owner.empty() && row.status == SagaStatus::WAITING) tables::saga::wake(tx, std::span(&row.id, 1));
  look_after(tx);
}

void Runner::freed(Transaction& tx, std::string_view resource, std::string_view key) {
  tx.after_commit([this, what = Freed{std::string(resource), std::string(key)}] { wake_lacking(what); });
}

// Marked and woken in two transactions: in one, this and a saga that begins to wait would lock
// the same two rows in opposite orders.
void Runner::wake_lacking(const Freed& what) {
  try {
    const auto ids = db_.write_result(
        "freed", [&](Transaction& tx) { return tables::shortage::mark_freed(tx, what.resource, what.key, kWokenMax); });
    if (ids.empty()) return;
    db_.write("wake", [&](Transaction& tx) { tables::saga::wake(tx, ids); });
  } catch (const Error&) {
    return;  // they look by themselves before long
  }
  look_at(Duration::zero());
  if (hooks_.announce) hooks_.announce();
}

void Runner::retry(Transaction& tx, std::string_view saga_id) {
  auto row = live_saga(tx, saga_id);
  if (row.status != SagaStatus::NEEDS_HELP)
    throw Conflict("SAGA_NOT_PARKED", "only a saga that needs help can be retried; this one goes on by itself");
  auto progress = from_json<Progress>(row.progress);
  progress.attempt = 0;
  row.progress = to_json(progress);
  row.status = progress.undoing ? SagaStatus::COMPENSATING : SagaStatus::RUNNING;
  row.take_overs = 0;
  tables::blame::clear(tx, tables::blame::Kind::saga, row.id);
  row.deadline_at.reset();  // a person has decided: its time does not count any more
  row.wake_at = tx.now();
  row.log.clear();
  tables::saga::update(tx, row);
  look_after(tx);
}

void Runner::compensate(Transaction& tx, std::string_view saga_id, std::string_view why) {
  const auto found = live_saga(tx, saga_id);
  if (!found.owner.empty()) throw Busy("SAGA_RUNS", "a worker is at this saga just now: try again", 1s);
  Instance saga = *load(found);
  tables::saga::Row& row = saga.row;  // of the definition that it goes on with
  const std::size_t known = saga.progress.done.size();
  if (!turn_back(*saga.definition, saga.progress, saga.state.get(), {"COMPENSATED_BY_HAND", std::string(why), ""}))
    throw Conflict(
        "NO_WAY_BACK",
        "the saga is past its pivot, is being undone, or waits for its child or for an answer that cannot be "
        "cancelled");
  record_assumed(saga, known);
  tables::shortage::leave(tx, row.id);
  SemanticLocks locks;
  locks.leave_queue(tx, saga);
  row.progress = to_json(saga.progress);
  row.status = SagaStatus::COMPENSATING;
  row.take_overs = 0;  // the step that killed its workers is not run any more
  tables::blame::clear(tx, tables::blame::Kind::saga, row.id);
  row.wake_at = tx.now();
  tables::saga::update(tx, row);
  tables::saga::wake(tx, locks.woken());
  store_recorded(tx, saga);
  look_after(tx);
}

SagaView view_of(const tables::saga::Row& row, const Registry& registry) {
  SagaView view;
  view.id = row.id;
  view.type = row.type;
  if (!row.key.empty()) view.key = row.key;
  if (!row.parent.empty()) view.parent = row.parent;
  view.status = row.status;
  view.state = RawJson{row.state};
  view.started_at = row.started_at;
  view.finished_at = row.finished_at;
  view.wakes_at = row.wake_at;
  if (!row.error_code.empty()) view.error = SagaError{row.error_code, row.error_message};
  std::string_view log = row.log;
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    view.steps.push_back(from_json<StepView>(log.substr(0, end)));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  const auto found = registry.all().find({row.type, row.revision});
  if (found == registry.all().end() || has_ended(row.status)) return view;
  Progress progress;
  try {
    progress = from_json<Progress>(row.progress);
  } catch (const Invalid&) {
    return view;  // it is shown all the same, and parked as UNREADABLE
  }
  const auto& steps = found->second.steps;
  const auto in_hand = progress.undoing && !progress.done.empty() ? static_cast<std::size_t>(progress.done.back().step)
                                                                  : static_cast<std::size_t>(progress.step);
  if (in_hand < steps.size()) view.step = steps[in_hand].name;
  return view;
}

}  // namespace skald::saga
