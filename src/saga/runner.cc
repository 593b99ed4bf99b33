#include "saga/runner.h"

#include <algorithm>

#include "env/seam.h"
#include "saga/call.h"
#include "saga/lock_circle.h"
#include "saga/narration.h"
#include "saga/recording.h"
#include "skald/id.h"

namespace skald::saga {
namespace {

constexpr int kRunsMax = 64;

Started started(const Instance& saga, bool joined = false) {
  Started out{saga.row.id, saga.row.status, joined, {}};
  if (!saga.row.error_code.empty()) out.error = SagaError{saga.row.error_code, saga.row.error_message};
  return out;
}

}  // namespace

Runner::Runner(Env env, Database& db, const Registry& registry, RunnerHooks hooks, GroupLimits limits)
    : env_(env),
      db_(db),
      registry_(registry),
      hooks_(std::move(hooks)),
      limits_(limits),
      next_look_(ticks(env.clock.steady())) {}

Runner::Handle Runner::make(const Definition& definition, std::shared_ptr<void> state, const StartOptions& options) {
  auto saga = std::make_unique<Instance>();
  saga->definition = &definition;
  saga->state = std::move(state);
  saga->newborn = true;
  saga->recorded = hooks_.record;
  saga->notes = hooks_.notes;
  saga->unique_key = !options.key.empty() && options.on_duplicate != OnDuplicate::allow;
  saga->row.id = options.id.empty() ? make_id(env_.clock.now(), env_.random) : options.id;
  saga->row.root = saga->row.id;
  saga->row.type = definition.type;
  saga->row.revision = definition.version;
  saga->row.key = options.key;
  saga->row.started_at = env_.clock.now();
  saga->row.traceparent = options.traceparent;
  return saga;
}

std::optional<Started> Runner::start_first(Instance& saga, const StartOptions& options, After& after) {
  try {
    after = commit(saga, std::nullopt);
    return std::nullopt;
  } catch (const Conflict& error) {
    if (error.code() != "SAGA_RUNS" || options.on_duplicate == OnDuplicate::refuse) throw;
  }
  let_go(saga.row.id);
  const auto live = db_.write_result(
      "find saga", [&](Transaction& tx) { return tables::saga::find_live(tx, saga.row.type, saga.row.key); });
  if (!live) throw Busy("SAGA_JUST_ENDED", "the saga of this key has just ended: try again", 100ms);
  return Started{live->id, live->status, true, {}};
}

Started Runner::start(const Definition& definition, std::shared_ptr<void> state, const StartOptions& options) {
  Handle saga = make(definition, std::move(state), options);
  const Birth birth(*this, saga->row.id);
  After after{};
  if (auto joined = start_first(*saga, options, after)) return *joined;
  const Started out = started(*saga);
  put_back(std::move(saga), after);
  return out;
}

Started Runner::run(const Definition& definition, std::shared_ptr<void> state, const StartOptions& options) {
  Handle saga = make(definition, std::move(state), options);
  const Birth birth(*this, saga->row.id);
  After after{};
  if (auto joined = start_first(*saga, options, after)) return *joined;
  const auto goes_on = [&] { return (after == After::go_on || after == After::call) && !saga->row.owner.empty(); };
  try {
    while (goes_on()) after = step(*saga, after);
  } catch (const Stale&) {
    let_go(saga->row.id);
    return started(*saga);
  } catch (const Error& error) {  // it is durable, and tried again
    const Started out = started(*saga);
    try_again_later(std::move(saga), error);
    return out;
  }
  const Started out = started(*saga);
  put_back(std::move(saga), after);
  return out;
}

std::vector<std::string> Runner::held() {
  std::lock_guard lock(mutex_);
  return {held_.begin(), held_.end()};
}

bool Runner::run_one() {
  if (draining_) return false;
  Ready ready;
  bool more = false;
  {
    std::lock_guard lock(mutex_);
    const Instant now = env_.clock.steady();
    const auto due = std::ranges::find_if(ready_, [&](const Ready& r) { return r.not_before <= now; });
    if (due == ready_.end()) return false;
    ready = std::move(*due);
    ready_.erase(due);
    more = !ready_.empty();
  }
  if (more && hooks_.wake_run) hooks_.wake_run();  // this caller is busy from here on
  const std::string id = ready.saga->row.id;
  try {
    if (ready.reload) ready.saga = reload(*ready.saga);
    if (ready.saga) {
      note_begun(id);
      const After after = step(*ready.saga, ready.after);
      trust(id);
      put_back(std::move(ready.saga), after);
    } else {
      drop_outdated(id);
    }
  } catch (const Stale&) {
    drop_outdated(id);
    env_.observer.count("sagas_lost_to_others_total");
  } catch (const std::exception& error) {
    try_again_later(std::move(ready.saga), error);
  }
  return true;
}

void Runner::try_again_later(Handle saga, const std::exception& error) {
  env_.observer.count("saga_errors_total");
  env_.observer.log(
      Observer::Level::warn, "a saga could not go on and is tried again",
      "\"tag\":\"[Saga]\",\"sagaId\":" + to_json(saga->row.id) + ",\"error\":" + to_json(std::string(error.what())));
  {
    std::lock_guard lock(mutex_);
    held_.insert(saga->row.id);
    ready_.push_back({std::move(saga), After::go_on, env_.clock.steady() + kPauseAfterError, true});
  }
  if (hooks_.wake_run) hooks_.wake_run();
}

void Runner::let_go(const std::string& id) {
  std::lock_guard lock(mutex_);
  held_.erase(id);
  suspects_.erase(id);
}

// What was in hand of it is not what the table has. A claim whose answer was lost may have made it this
// worker's again: it is looked for, unless a later claim has brought it already, which goes on with it.
void Runner::drop_outdated(const std::string& id) {
  {
    std::lock_guard lock(mutex_);
    if (std::ranges::any_of(ready_, [&](const Ready& ready) { return ready.saga->row.id == id; })) return;
  }
  let_go(id);
  adrift_ = true;
  look_at(Duration::zero());
}

// In this order: a poll in between would take the row for one that is in hand.
void Runner::give_up(const std::string& id) {
  let_go(id);
  adrift_ = true;
  look_at(kPauseAfterError);
}

// From here on a suspect may kill.
void Runner::note_begun(const std::string& id) {
  Duration patience{};
  {
    std::lock_guard lock(mutex_);
    const auto found = suspects_.find(id);
    if (found == suspects_.end() || found->second.until != Instant::max()) return;
    patience = tables::blame::alone_for(found->second.deaths);
    found->second.until = env_.clock.steady() + patience;
  }
  look_at(patience);
}

void Runner::trust(const std::string& id) {
  std::lock_guard lock(mutex_);
  suspects_.erase(id);
}

Duration Runner::ready_in() {
  if (draining_) return kIdleMax;
  std::lock_guard lock(mutex_);
  const Instant now = env_.clock.steady();
  Duration soonest = kIdleMax;
  for (const Ready& ready : ready_) soonest = std::clamp<Duration>(ready.not_before - now, Duration::zero(), soonest);
  return soonest;
}

// What is in memory may be behind or ahead of what was committed: the table knows.
Runner::Handle Runner::reload(const Instance& saga) {
  auto row = db_.read_result([&](Transaction& tx) { return tables::saga::find(tx, saga.row.id); });
  if (!row || row->owner.empty() || row->owner != hooks_.worker() || row->fence != saga.row.fence) return nullptr;
  Handle found = load(std::move(*row));
  found->blame = saga.blame;
  found->watched = saga.watched;
  return found;
}

Runner::Handle Runner::load(tables::saga::Row row) const {
  auto saga = std::make_unique<Instance>();
  saga->recorded = hooks_.record;
  saga->notes = hooks_.notes;
  saga->definition = &registry_.resume(row);
  saga->progress = from_json<Progress>(row.progress);
  saga->state = saga->definition->codec.read(RawJson{row.state});
  saga->row = std::move(row);
  saga->row.log.clear();
  return saga;
}

After Runner::step(Instance& saga, After before) {
  const bool asked = before == After::call || (saga.progress.called && awaits_answer(saga));
  if (!asked || saga.blame.is_condemned()) return commit(saga, std::nullopt);
  const bool asked_before = before != After::call && seam::holds(seam::Rule::unknown_not_guessed);
  return commit(saga, call(env_, saga, asked_before, hooks_.side_by_side));
}

After Runner::commit(Instance& saga, std::optional<Trouble> trouble) {
  Trial trial;
  trial.call = std::move(trouble);
  trial.code = UserCode(saga.watched);
  bool result_alone = !saga.log.empty();  // what a call came to is in memory only
  for (int runs = 0; runs < kRunsMax; ++runs) {
    std::optional<Instance> draft;
    After after{};
    std::optional<Duration> wakes_in;
    std::vector<Freed> freed;
    bool others = false, came_before = false;
    trial.met.reset();
    trial.code.begin_run();
    try {
      db_.write(saga.definition->type, [&](Transaction& tx) {
        // A deadlock, mostly: step by step it holds less at a time. (On SQLite it is somebody
        // else of its batch who makes it come again.)
        if (std::exchange(came_before, true) && tx.on(Dialect::postgres)) trial.ends_after = 1;
        draft = saga.draft();
        Group group(env_, tx, *draft, trial, limits_);
        after = group.run(hooks_.worker());
        wakes_in = group.wakes_in();
        others = !group.woken().empty();
        freed = group.freed();
      });
    } catch (const PlaceTaken&) {
      trial.alone = true;
      continue;
    } catch (const CommitUnknown&) {
      if (!is_steps_own(saga, trial)) {
        look_at(kPauseAfterError);  // it may have woken others
        throw;                      // whoever has the saga in hand looks what became of it
      }
      learn(saga, trial, result_alone);
      continue;
    } catch (...) {
      if (!is_steps_own(saga, trial)) throw;
      learn(saga, trial, result_alone);
      continue;
    }
    narrate(env_.observer, saga, *draft, after, wakes_in);
    saga = std::move(*draft);
    saga.newborn = saga.watched = false;
    saga.log.clear();
    saga.hardships.clear();
    for (const Span& span : saga.spans) env_.observer.span(span);
    saga.spans.clear();
    if (others) look_at(Duration::zero());
    if (wakes_in) look_at(*wakes_in);
    for (const Freed& what : freed) wake_lacking(what);
    if (after == After::ended)
      env_.observer.count(saga.progress.undoing ? "sagas_compensated_total" : "sagas_completed_total");
    if (after == After::wait && could_close_circle(saga)) watch_for_circle(saga);
    if (after == After::parked) {
      env_.observer.count("sagas_parked_total");
      env_.observer.log(Observer::Level::error, "a saga needs help",
                        "\"tag\":\"[Saga]\",\"sagaId\":" + to_json(saga.row.id) + ",\"key\":" + to_json(saga.row.key) +
                            ",\"code\":" + to_json(saga.row.error_code) +
                            ",\"error\":" + to_json(saga.row.error_message));
    }
    return after;
  }
  throw Unavailable("SAGA_UNSETTLED", "the steps of a saga keep failing in other places: it is tried again later");
}

bool Runner::is_steps_own(Instance& saga, Trial& trial) {
  const bool own = trial.code.is_own();
  if (!own || !trial.code.has_thrown()) trial.met.reset();
  if (trial.met) return true;
  if (!own || saga.newborn) {
    saga.watched = trial.code.is_watched();
    return false;
  }
  // Wrong was what a step has enqueued, or what it left in the state: watched, it shows whose that is,
  // and the last one has to answer for what shows even then only at the end.
  if (trial.code.is_watched() && trial.last != nullptr) {
    try {
      throw;
    } catch (const std::exception& error) {
      trial.met = Met{{Trouble::Kind::refusal, failure_of(error, trial.last->name), {}}, trial.last_act, {}};
      trial.ran = trial.last_at;
    }
  }
  trial.code.watch();
  return true;
}

void Runner::learn(Instance& saga, Trial& trial, bool& result_alone) {
  if (!trial.met) return;
  if (trial.met->trouble.failure.code == "LOCK_ORDER" && trial.ran > 0) {
    trial.ends_after = trial.ran;
    return;
  }
  if (std::exchange(result_alone, false)) {
    if (!seam::holds(seam::Rule::result_kept)) throw;
    commit_result_alone(saga);
    return;
  }
  const bool rollback =
      trial.rollback_undoes_all && trial.met->trouble.kind == Trouble::Kind::refusal && trial.stops.empty();
  const int at = rollback ? 0 : trial.ran;
  trial.stops.erase(trial.stops.lower_bound(at), trial.stops.end());
  trial.stops.emplace(at, *trial.met);
}

void Runner::commit_result_alone(Instance& saga) {
  Instance draft = saga;
  db_.write("result of a call", [&](Transaction& tx) {
    draft = saga;
    if (!tables::saga::hold(tx, saga.row.id, saga.row.owner, saga.row.fence))
      throw Stale("SAGA_TAKEN", "another worker has taken this saga over");
    draft.row.progress = to_json(draft.progress);
    draft.row.state = draft.definition->codec.write(draft.state.get());
    draft.row.log = std::move(draft.log);
    tables::saga::update(tx, draft.row);
    store_recorded(tx, draft);
  });
  saga = std::move(draft);
  saga.log.clear();
}

// A net only: where the database does not answer now, the wait ends by its own limit.
void Runner::watch_for_circle(const Instance& saga) {
  std::vector<std::string> circle;
  std::string youngest;
  try {
    circle = db_.read_result([&](Transaction& tx) { return circle_through(tx, saga.row.root); });
    if (circle.empty()) return;
    db_.write("break circle", [&](Transaction& tx) { youngest = break_circle(tx, circle); });
  } catch (const Error&) {
    return;
  }
  look_at(Duration::zero());
  env_.observer.count("saga_lock_circles_total");
  env_.observer.log(Observer::Level::error, "sagas wait for each other's locks, and the youngest gives way",
                    "\"sagas\":" + to_json(circle) + ",\"youngest\":" + to_json(youngest));
}

void Runner::put_back(Handle saga, After after) {
  const bool more = after == After::go_on || after == After::call;
  if (!more || saga->row.owner.empty()) let_go(saga->row.id);
  if (!more) return;
  if (saga->row.owner.empty()) {
    look_at(Duration::zero());
    if (hooks_.announce) hooks_.announce();
    return;
  }
  {
    std::lock_guard lock(mutex_);
    held_.insert(saga->row.id);
    ready_.push_back({std::move(saga), after, env_.clock.steady(), false});
  }
  if (hooks_.wake_run) hooks_.wake_run();
}

}  // namespace skald::saga
