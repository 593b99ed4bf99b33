#include "saga/group.h"

#include <algorithm>

#include "env/seam.h"
#include "saga/recording.h"
#include "store/tables/shortage.h"
#include "store/tables/signal.h"

namespace skald::saga {
namespace {

using seam::Rule;

// Locks, waits and deadlines are counted in the database's time.
bool asks_for_time(const Definition& definition) {
  return definition.deadline || std::ranges::any_of(definition.steps, [](const Step& step) {
           return step.kind != Kind::local || !step.holds.empty();
         });
}

}  // namespace

Failure failure_of(const std::exception& error, const std::string& step) {
  const auto* known = dynamic_cast<const Error*>(&error);
  return {known != nullptr ? known->code() : "STEP_FAILED", error.what(), step};
}

Trouble trouble_of(std::exception_ptr error, const Next& what) {
  const auto trouble = [&](Trouble::Kind kind, const std::exception& e) {
    return Trouble{kind, failure_of(e, what.step->name), {}};
  };
  const Actions& actions = what.act == Next::Act::undo ? what.step->undo : what.step->run;
  const bool remote = static_cast<bool>(actions.remote);
  try {
    std::rethrow_exception(error);
  } catch (const Refused& e) {
    return trouble(Trouble::Kind::refusal, e);
  } catch (const Stale& e) {
    return trouble(Trouble::Kind::stale, e);
  } catch (const Busy& e) {
    Trouble busy = trouble(Trouble::Kind::passing, e);
    if (actions.local && what.act == Next::Act::run) busy.shortage = e.shortage;
    return busy;
  } catch (const LockTimeout& e) {
    return trouble(Trouble::Kind::passing, e);
  } catch (const CommitUnknown& e) {
    // A local step's transaction is rolled back: whatever it lost elsewhere, here nothing has happened.
    return trouble(remote ? Trouble::Kind::unknown : Trouble::Kind::passing, e);
  } catch (const Unavailable& e) {
    return trouble(Trouble::Kind::passing, e);
  } catch (const std::exception& e) {
    // Of a call nothing but Refused says that it did not happen: an answer may not have been understood.
    return trouble(remote ? Trouble::Kind::unknown : Trouble::Kind::refusal, e);
  }
}

After Group::run(std::string_view worker) {
  trial_.ran = 0;
  trial_.rollback_undoes_all = true;
  trial_.met.reset();
  trial_.last = nullptr;
  trial_.code.begin_run();
  if (saga_.newborn && !asks_for_time(*saga_.definition)) tables::saga::announce(tx_, saga_.row.id);
  const bool ours =
      saga_.newborn || trial_.signal || tables::saga::hold(tx_, saga_.row.id, saga_.row.owner, saga_.row.fence);
  if (!ours && seam::holds(Rule::saga_fence_checked))
    throw Stale("SAGA_TAKEN", "another worker has taken this saga over");
  if (saga_.newborn && saga_.unique_key && seam::holds(Rule::business_key_checked) &&
      tables::saga::find_live(tx_, saga_.row.type, saga_.row.key))
    throw already_runs();
  if (trial_.alone) locks_.enter(tx_, saga_, saga_.progress.step);
  if (saga_.newborn) record_begin(saga_);
  const After after = saga_.blame.is_condemned() ? park_crashed() : run_steps();
  store(after, worker);
  return after;
}

After Group::run_steps() {
  const Instant begun = env_.clock.steady();
  const Definition& definition = *saga_.definition;
  if (trial_.call) {
    const Next called = next(definition, saga_.progress, saga_.state.get());
    const auto after = meet(called, *trial_.call);
    // What can be cancelled is not asked for beyond the deadline.
    const bool cancels = after == After::wait && called.act == Next::Act::run && called.step->undo.remote;
    if (after && !(cancels && is_late())) return *after;
    wake_at_.reset();
    turned_back_ = false;
  }
  if (is_late()) {
    locks_.leave_queue(tx_, saga_);
    const std::size_t known = saga_.progress.done.size();
    if (!expire(definition, saga_.progress, saga_.state.get()))
      return park({"DEADLINE", "its time is over, and a call has no answer yet: find out, then retry", ""});
    record_assumed(saga_, known);
  }
  for (;;) {
    const Next what = next(definition, saga_.progress, saga_.state.get());
    if (saga_.progress.anew && !saga_.progress.undoing) {
      // Whoever holds the lock that was not free may wait for one of these.
      saga_.progress.anew = false;
      locks_.release(tx_, saga_, trial_.alone);
      return After::go_on;
    }
    if (what.act == Next::Act::finish) return After::ended;
    if (what.failed) {
      if (const auto after = meet_unclear(what, what.failed)) return *after;
      turned_back_ = false;
      continue;
    }
    if (const Met* known = known_trouble(what)) {
      ++trial_.ran;
      saga_.operations.insert(saga_.operations.end(), known->reads.begin(), known->reads.end());
      if (known->span) saga_.spans.push_back(*known->span);
      if (const auto after = meet(what, known->trouble)) return *after;
      turned_back_ = false;
      continue;
    }
    if (const auto after = run_one(what)) return *after;
    ++trial_.ran;
    if (std::exchange(turned_back_, false)) continue;
    trial_.rollback_undoes_all = trial_.rollback_undoes_all && what.step->undone_by_rollback;
    const bool full = trial_.ran >= trial_.ends_after.value_or(limits_.steps) ||
                      env_.clock.steady() - begun > (saga_.newborn ? limits_.first : limits_.time);
    const bool boundary = what.step->commits && what.act == Next::Act::run;
    if ((full || boundary) && next(definition, saga_.progress, saga_.state.get()).act != Next::Act::finish)
      return After::go_on;
  }
}

bool Group::is_late() { return !saga_.newborn && saga_.row.deadline_at && tx_.now() >= *saga_.row.deadline_at; }

// What an earlier run met here. Where others have changed what the steps read since then, or
// the saga's time is over meanwhile, this run may come to another step or undo: then there is
// nothing to meet. (At 0 it is what all of them came to, which are undone by the rollback.)
const Met* Group::known_trouble(const Next& what) const {
  const auto stop = trial_.stops.find(trial_.ran);
  if (stop == trial_.stops.end() || stop->second.act != what.act) return nullptr;
  return stop->first == 0 || stop->second.trouble.failure.step == what.step->name ? &stop->second : nullptr;
}

// Empty: done, go on.
std::optional<After> Group::run_one(const Next& what) {
  step_begun_ = env_.clock.now();
  if (what.act == Next::Act::run) {
    const bool first = seam::holds(Rule::locks_taken_first) || saga_.progress.queued;
    const auto after = first ? take_locks(what) : std::nullopt;
    if (after || turned_back_) return after;
    switch (what.step->kind) {
      case Kind::sleep: return sleep(what);
      case Kind::await: return await(what);
      case Kind::child: return run_child(what);
      default: break;
    }
  }
  const Actions& actions = what.act == Next::Act::undo ? what.step->undo : what.step->run;
  if (actions.remote) {
    saga_.progress.called = seam::holds(Rule::intent_committed_first);
    return After::call;
  }
  try {
    if (actions.local)
      attempt(what, [&](Local& step) { actions.local(step, saga_.state.get(), step.context().element); });
    else step_span_ = saga_.begin_step_span(env_, what);
  } catch (...) {
    if (!trial_.met || seam::holds(Rule::failed_step_discarded)) throw;
    return meet(what, std::exchange(trial_.met, std::nullopt)->trouble);
  }
  done(what, what.act == Next::Act::undo ? "UNDONE" : "DONE");
  return seam::holds(Rule::locks_taken_first) ? std::nullopt : take_locks(what);
}

void Group::attempt(const Next& what, const std::function<void(Local&)>& code) {
  StepContext context = saga_.context(what, what.elements.empty() ? 0 : what.elements.front());
  step_span_ = saga_.begin_step_span(env_, what);
  if (step_span_) context.traceparent = step_span_->traceparent();
  tx_.set_traceparent(context.traceparent);
  const std::size_t recorded = saga_.operations.size();
  try {
    const CrashNotes::Running running(saga_.notes, kSagaNote, saga_.row.id);
    const Recording recording(tx_, saga_, what);
    Local step(tx_, context, freed_);
    consult(what, [&] { code(step); });
  } catch (...) {
    if (!trial_.met) throw;
    trial_.met->span = std::exchange(step_span_, std::nullopt);
    if (auto& span = trial_.met->span) {
      span->error = described(trial_.met->trouble.failure);
      span->end = env_.clock.now();
    }
    if (trial_.met->trouble.kind == Trouble::Kind::refusal) trial_.met->reads = reads_since(saga_, recorded);
    throw;
  }
  tx_.set_traceparent({});
}

void Group::consult(const Next& what, const std::function<void()>& code) {
  trial_.last = what.step;
  trial_.last_act = what.act;
  trial_.last_at = trial_.ran;
  try {
    trial_.code.call(tx_, code);
  } catch (...) {
    trial_.met = Met{trouble_of(std::current_exception(), what), what.act, {}};
    throw;
  }
}

void Group::done(const Next& what, std::string_view status) {
  saga_.note({what.step->name,
              std::string(enum_name(what.step->kind)),
              std::string(status),
              saga_.progress.attempt + 1,
              step_begun_,
              env_.clock.now(),
              {}});
  if (step_span_) {
    step_span_->end = env_.clock.now();
    saga_.spans.push_back(*std::exchange(step_span_, std::nullopt));
  }
  record_done(saga_, what, what.elements.front());
  succeed(saga_.progress, what, what.elements.front(), saga_.state.get());
}

std::optional<After> Group::take_locks(const Next& what) {
  if (what.step->holds.empty() && !saga_.progress.queued) return std::nullopt;
  LockAnswer answer;
  try {
    answer = locks_.take(tx_, saga_, what.index, trial_.alone);
  } catch (const LockUnclear& unclear) {
    return meet_unclear(what, unclear.error);
  }
  switch (answer.kind) {
    case LockAnswer::Kind::granted: return std::nullopt;
    case LockAnswer::Kind::queued: return wait(SagaStatus::WAITING, saga_.progress.wait_until);
    case LockAnswer::Kind::refused: break;
    case LockAnswer::Kind::out_of_order:
      if (start_again(*saga_.definition, saga_.progress)) return After::go_on;
      return meet(what, {Trouble::Kind::refusal, {"BUSY", "a lock out of order was not free", what.step->name}, {}});
  }
  return meet(what, *answer.trouble);
}

void Group::note_trouble(const Next& what, const Trouble& trouble) {
  const bool refusal = trouble.kind == Trouble::Kind::refusal;
  saga_.note({what.step->name, std::string(enum_name(what.step->kind)), refusal ? "REFUSED" : "FAILED",
              saga_.progress.attempt + 1, step_begun_ == Time{} ? env_.clock.now() : step_begun_, env_.clock.now(),
              described(trouble.failure)});
  saga_.hardships.push_back({trouble, saga_.progress.attempt + 1});
}

bool Group::is_patience_over() {
  std::optional<Time>& since = saga_.progress.troubled_since;
  if (!since) since = tx_.now();
  return tx_.now() >= *since + limits_.patience;
}

// A call that was made, or a child that was begun, is not given up for it.
std::optional<After> Group::meet_unclear(const Next& what, std::exception_ptr error) {
  step_begun_ = env_.clock.now();
  Trouble trouble = trouble_of(std::move(error), what);
  trouble.shortage.reset();
  if (saga_.progress.called) trouble.kind = Trouble::Kind::unknown;
  else if (trouble.kind == Trouble::Kind::unknown) trouble.kind = Trouble::Kind::refusal;
  return meet(what, std::move(trouble));
}

// Empty: turned back, go on with undoing.
std::optional<After> Group::meet(const Next& what, Trouble trouble) {
  if (trouble.shortage) {
    if (const auto after = wait_until_freed(what, trouble)) return after;
    trouble.kind = Trouble::Kind::refusal;
  }
  note_trouble(what, trouble);
  const std::size_t known = saga_.progress.done.size();
  const bool patient = needs_patience(*saga_.definition, saga_.progress, what, trouble);
  switch (fail(*saga_.definition, saga_.progress, what, trouble, patient && is_patience_over())) {
    case Verdict::undo:
      turned_back_ = true;
      if (what.step->kind == Kind::child && child_completed(what)) saga_.progress.done.push_back({what.index, 0});
      record_assumed(saga_, known);
      locks_.leave_queue(tx_, saga_);
      return std::nullopt;
    case Verdict::help: return park(trouble.failure);
    case Verdict::again: break;
  }
  const Duration pause =
      pause_after(trouble.retry.value_or(what.step->retry), saga_.progress.attempt, patient, env_.random);
  return wait(saga_.progress.undoing ? SagaStatus::COMPENSATING : SagaStatus::RUNNING, tx_.now() + pause);
}

// Why it is being undone, if it is, stays known.
After Group::park(const Failure& failure) {
  parked_for_ = failure;
  saga_.row.status = SagaStatus::NEEDS_HELP;
  saga_.progress.lacking.reset();
  saga_.progress.troubled_since.reset();
  record_finish(saga_, checker::Outcome::parked);
  return After::parked;
}

After Group::park_crashed() {
  const auto pause = tables::blame::retry_after(saga_.blame, limits_.crash_retries);
  if (pause) wake_at_ = tx_.now() + *pause;
  tables::blame::park(tx_, tables::blame::Kind::saga, saga_.row.id, wake_at_);
  return park({"CRASHED", "its step killed the worker " + std::to_string(saga_.blame.counted) + " times", ""});
}

void Group::store(After after, std::string_view worker) {
  tables::saga::Row& row = saga_.row;
  Progress& progress = saga_.progress;
  if (after == After::ended) {
    row.status = progress.undoing ? SagaStatus::COMPENSATED : SagaStatus::COMPLETED;
    row.finished_at = env_.clock.now();
    if (seam::holds(Rule::locks_released_at_end)) {
      locks_.release(tx_, saga_, trial_.alone);
      locks_.keep(tx_);  // a child's, for its root
    }
    for (const Step& step : saga_.definition->steps)
      if (step.kind == Kind::await && !saga_.newborn) tables::signal::forget(tx_, row.id);
    if (!row.parent.empty() && seam::holds(Rule::parent_told)) woken_.push_back(row.parent);
    record_finish(saga_, progress.undoing ? checker::Outcome::compensated : checker::Outcome::completed);
  } else {
    if (after == After::go_on || after == After::call)
      row.status = progress.undoing ? SagaStatus::COMPENSATING : SagaStatus::RUNNING;
    locks_.keep(tx_);
    if (saga_.newborn && saga_.definition->deadline) row.deadline_at = tx_.now() + *saga_.definition->deadline;
  }
  if (lacked_ && !progress.lacking && seam::holds(Rule::lack_forgotten)) tables::shortage::leave(tx_, row.id);
  const bool owned = (after == After::go_on || after == After::call) && !worker.empty();
  row.owner = owned ? worker : std::string_view();
  row.wake_at = wake_at_;
  if (after == After::wait && row.deadline_at > tx_.now() && can_expire(*saga_.definition, progress))
    row.wake_at = std::min(row.wake_at.value_or(Time::max()), *row.deadline_at);
  if ((after == After::go_on || after == After::call) && !owned) row.wake_at = tx_.now();
  if (!saga_.blame.is_condemned()) {  // it has run and survived
    if (row.take_overs >= tables::blame::kDeathsAlone) tables::blame::clear(tx_, tables::blame::Kind::saga, row.id);
    row.take_overs = 0;
    saga_.blame = {};
  }
  const std::optional<Failure>& failure = parked_for_ ? parked_for_ : progress.failure;
  row.error_code = failure ? failure->code : "";
  row.error_message = failure ? failure->message : "";
  row.progress = after == After::ended ? "{}" : to_json(progress);  // nobody goes on from its end
  row.state = saga_.definition->codec.write(saga_.state.get());
  if (seam::holds(Rule::log_stored)) row.log = std::move(saga_.log);
  if (saga_.newborn) tables::saga::insert(tx_, row);
  else tables::saga::update(tx_, row);
  for (const std::string& id : locks_.woken()) woken_.push_back(id);
  if (!woken_.empty()) tables::saga::wake(tx_, woken_);
  if (row.wake_at) wakes_in_ = *row.wake_at - tx_.now();
  store_recorded(tx_, saga_);
}

}  // namespace skald::saga
