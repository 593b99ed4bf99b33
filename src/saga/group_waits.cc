// Group: steps at which a saga may have to wait.
#include <algorithm>

#include "env/seam.h"
#include "saga/group.h"
#include "saga/lacking.h"
#include "store/tables/signal.h"

namespace skald::saga {
namespace {

using seam::Rule;

// Of the latest: a step may have to begin another where the one before was undone.
std::string child_id(const Instance& saga, const Next& what) {
  const auto begun = std::ranges::count(saga.progress.children, what.index);
  return saga.row.id + "." + std::to_string(what.index) + (begun > 1 ? "-" + std::to_string(begun) : "");
}

}  // namespace

After Group::wait(SagaStatus status, std::optional<Time> until) {
  saga_.row.status = status;
  wake_at_ = until;
  return After::wait;
}

// Empty: it has waited long enough.
std::optional<After> Group::wait_until_freed(const Next& what, const Trouble& trouble) {
  const bool known = saga_.progress.lacking.has_value();
  const Lack lack = note_lack(tx_, saga_, *trouble.shortage);
  if (lack == Lack::over) return std::nullopt;
  if (!known) note_trouble(what, trouble);
  if (lack == Lack::look_again) return After::go_on;
  return wait(SagaStatus::WAITING, std::min(*saga_.progress.wait_until, tx_.now() + kLooksByItself));
}

std::optional<After> Group::sleep(const Next& what) {
  if (saga_.progress.called) {
    if (saga_.progress.wait_until && tx_.now() < *saga_.progress.wait_until && seam::holds(Rule::sleep_kept))
      return wait(SagaStatus::WAITING, saga_.progress.wait_until);
    done(what, "DONE");
    return std::nullopt;
  }
  Duration time{};
  consult(what, [&] { time = what.step->sleep_time(saga_.state.get()); });
  saga_.progress.called = true;
  saga_.progress.wait_until = tx_.now() + time;
  return wait(SagaStatus::WAITING, saga_.progress.wait_until);
}

std::optional<After> Group::await(const Next& what) {
  std::optional<std::string> payload = trial_.signal;
  if (!payload && !saga_.newborn) payload = tables::signal::take(tx_, saga_.row.id, what.step->signal);
  if (payload) {
    if (what.step->receive)
      attempt(what, [&](Local& step) { what.step->receive(step, saga_.state.get(), RawJson{*payload}); });
    else step_span_ = saga_.begin_step_span(env_, what);
    done(what, "DONE");
    return std::nullopt;
  }
  if (!saga_.progress.called) {
    saga_.progress.called = true;
    saga_.progress.wait_until = tx_.now() + what.step->timeout;
  } else if (tx_.now() >= *saga_.progress.wait_until) {
    const Failure late{"TIMED_OUT", "the signal '" + what.step->signal + "' did not come in time", what.step->name};
    return meet(what, {Trouble::Kind::refusal, late, {}});
  }
  return wait(SagaStatus::WAITING, saga_.progress.wait_until);
}

// Then what it did is there to be undone, though its parent's step was refused.
bool Group::child_completed(const Next& what) {
  const auto child = tables::saga::find(tx_, child_id(saga_, what));
  return child && child->status == SagaStatus::COMPLETED;
}

std::optional<After> Group::run_child(const Next& what) {
  if (!saga_.progress.called) {
    saga_.progress.called = true;
    saga_.progress.children.push_back(what.index);
    tables::saga::Row row;
    row.id = child_id(saga_, what);
    row.type = what.step->child_type;
    row.parent = saga_.row.id;
    row.root = saga_.row.root;
    row.key = saga_.row.key;
    row.traceparent = saga_.row.traceparent;
    row.started_at = tx_.now();
    row.wake_at = tx_.now();
    if (what.step->child_deadline) row.deadline_at = tx_.now() + *what.step->child_deadline;
    row.revision = what.step->child_version;
    consult(what, [&] { row.state = what.step->make_child(saga_.state.get()).text; });
    row.progress = to_json(Progress{});
    tables::saga::insert(tx_, row);
    woken_.push_back(row.id);
    return wait(SagaStatus::WAITING, std::nullopt);
  }
  // Not before the child's own transaction is over: it wakes nobody who looks at it just now.
  const std::string id = child_id(saga_, what);
  const bool alone = seam::holds(Rule::child_end_awaited);
  const auto child = alone ? tables::saga::find_locked(tx_, id) : tables::saga::find(tx_, id);
  if (!child || !has_ended(child->status)) return wait(SagaStatus::WAITING, std::nullopt);
  if (child->status == SagaStatus::COMPENSATED) {
    const Failure failure{child->error_code, child->error_message, what.step->name};
    const auto after = meet(what, {Trouble::Kind::refusal, failure, {}});
    if (!turned_back_) saga_.progress.called = false;  // there is no way back: another child is tried
    return after;
  }
  attempt(what, [&](Local& step) { what.step->receive(step, saga_.state.get(), RawJson{child->state}); });
  done(what, "DONE");
  return std::nullopt;
}

}  // namespace skald::saga
