// One transaction of a saga: as many local steps as can share it, or their undos, and
// everything that must be stored with them.
//
// A step that fails throws the transaction away; it is run again up to that step, and
// there the failure is dealt with: its own work is gone, what came before is undone in
// the same transaction. Others see what they would have seen with a commit per step.
#pragma once

#include <map>

#include "saga/instance.h"
#include "saga/semantic_locks.h"
#include "store/user_code.h"

namespace skald::saga {

struct GroupLimits {
  int steps = 16;
  Duration time = 20ms;
  Duration first = 1s;  // instead, of the first transaction: whoever starts the saga waits for what that can tell
  // With an undo, a call without an answer, or a step behind the pivot that keeps failing: then a person is called.
  Duration patience = std::chrono::minutes(5);
  // When a saga that was parked because it kills its workers is tried again; then a person is left with it.
  std::vector<Duration> crash_retries = {10min, 1h, 6h};
};

// What is known from earlier runs of the same group.
struct Met {
  Trouble trouble;
  Next::Act act = Next::Act::run;         // of the step, or its undo
  std::vector<checker::Operation> reads;  // that it was decided on, where a history is kept
  std::optional<Span> span = {};          // that the step was
};
struct Trial {
  std::optional<Trouble> call;       // what the call before it came to
  std::map<int, Met> stops;          // after that many steps comes this trouble, which counts as one
  bool alone = false;                // at the places of its locks
  std::optional<int> ends_after = {};  // so many steps: what is behind them wants a transaction of its own
  std::optional<std::string> signal; // for the await it stands at: nobody owns it, its row is locked
  UserCode code = UserCode();        // of its steps
  // Of the last run:
  int ran = 0;                       // steps that have run
  bool rollback_undoes_all = true;   // those are all undone_by_rollback
  std::optional<Met> met;            // what the step behind them threw
  const Step* last = nullptr;        // whose code ran last
  Next::Act last_act = Next::Act::run;
  int last_at = 0;                   // after so many steps
};

// What an exception of a step means.
Failure failure_of(const std::exception& error, const std::string& step);
Trouble trouble_of(std::exception_ptr error, const Next& what);

class Group {
 public:
  // What it is given outlives it.
  Group(Env env, Transaction& tx, Instance& saga, Trial& trial, const GroupLimits& limits)
      : env_(env), tx_(tx), saga_(saga), trial_(trial), limits_(limits), lacked_(saga.progress.lacking) {}

  // Runs steps, and stores saga, log and locks. Throws what a step throws, with
  // trial.met set, and PlaceTaken.
  After run(std::string_view worker);

  // The sagas that became due by it.
  const std::vector<std::string>& woken() const { return woken_; }
  // What its steps have freed.
  const std::vector<Freed>& freed() const { return freed_; }
  // When this one wants to be woken.
  std::optional<Duration> wakes_in() const { return wakes_in_; }

 private:
  // Until something but a local step is to be done.
  After run_steps();
  bool is_late();
  const Met* known_trouble(const Next& what) const;
  std::optional<After> run_one(const Next& what);
  std::optional<After> take_locks(const Next& what);
  std::optional<After> meet(const Next& what, Trouble trouble);
  std::optional<After> wait_until_freed(const Next& what, const Trouble& trouble);
  bool is_patience_over();
  void note_trouble(const Next& what, const Trouble& trouble);
  std::optional<After> sleep(const Next& what);
  std::optional<After> await(const Next& what);
  std::optional<After> run_child(const Next& what);
  bool child_completed(const Next& what);
  // What the step's definition could not say of it; nothing was written, so it is met where it stands.
  std::optional<After> meet_unclear(const Next& what, std::exception_ptr error);
  // Runs a step's code; what it throws is noted in the trial, and goes on.
  void attempt(const Next& what, const std::function<void(Local&)>& code);
  // The same for what a step's definition says of it.
  void consult(const Next& what, const std::function<void()>& code);
  void done(const Next& what, std::string_view status);
  After park(const Failure& failure);
  After park_crashed();
  After wait(SagaStatus status, std::optional<Time> until);
  void store(After after, std::string_view worker);

  Env env_;
  Transaction& tx_;
  Instance& saga_;
  Trial& trial_;
  const GroupLimits& limits_;
  const bool lacked_;               // others know of something that it lacks
  SemanticLocks locks_;
  bool turned_back_ = false;
  std::vector<std::string> woken_;
  std::vector<Freed> freed_;
  std::optional<Time> wake_at_;
  std::optional<Failure> parked_for_;
  std::optional<Duration> wakes_in_;
  Time step_begun_{};
  std::optional<Span> step_span_;
};

}  // namespace skald::saga
