// How far a saga has come: what is stored beside its state, and the pure steps from
// one progress to the next. Nothing here reads a clock or a database.
//
//   forward:  the step in hand is `step`, of it the element `element`
//   undoing:  what is to be undone is the end of `done`, down to `undo_to`
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include "skald/saga_definition.h"
#include "skald/saga_view.h"

namespace skald::saga {

struct Done {
  int step = 0;
  int element = 0;
  bool operator==(const Done&) const = default;
};
BOOST_DESCRIBE_STRUCT(Done, (), (step, element))

struct Held {
  std::string resource, key;
  LockMode mode = LockMode::exclusive;
};
BOOST_DESCRIBE_STRUCT(Held, (), (resource, key, mode))

// Why a saga is undone, or what it is stuck with.
struct Failure {
  std::string code, message, step;
};
BOOST_DESCRIBE_STRUCT(Failure, (), (code, message, step))
inline std::string described(const Failure& failure) { return failure.code + ": " + failure.message; }

// What the step in hand lacks, and others know of.
struct Lacking {
  std::string resource, key;
  std::int64_t freed = 0;           // so often, when the step looked last
};
BOOST_DESCRIBE_STRUCT(Lacking, (), (resource, key, freed))

struct Progress {
  int step = 0;
  int element = 0;
  int attempt = 0;                  // failed tries of what is in hand
  bool called = false;              // a remote call of it may have been made; a wait of it has begun
  bool past_pivot = false;
  bool undoing = false;
  int undo_to = 0;
  bool anew = false;                // undone to begin anew: its locks go when that is done
  int restarts = 0;                 // of the whole, because a lock was not free out of order
  std::vector<Done> done;
  std::vector<std::string> undone;  // names of calls, once for each time that they were
  std::optional<Failure> failure;
  std::optional<Time> wait_until;   // of a lock, a signal or what is lacking
  std::optional<Lacking> lacking;
  std::optional<Time> troubled_since;  // what is in hand fails, and is tried for as long as patience lasts
  std::vector<int> children;        // the step of each that was begun
  std::vector<Held> locks;          // granted, rows in the table
  std::optional<Held> queued;       // waiting for this one
};
BOOST_DESCRIBE_STRUCT(Progress, (),
                      (step, element, attempt, called, past_pivot, undoing, undo_to, anew, restarts, done, undone,
                       failure, wait_until, lacking, troubled_since, children, locks, queued))

// What comes next; skips what is not wanted.
struct Next {
  enum class Act { run, undo, finish } act = Act::finish;
  const Step* step = nullptr;
  int index = 0;
  std::vector<int> elements;        // one, or those of a parallel step that are not done
  std::exception_ptr failed = {};   // thrown by the step's when() or by the count of its elements: it cannot run
};
Next next(const Definition& definition, Progress& progress, const void* state);

// One element of a step, by the step's name, which stays where a later version moves it.
std::string name_of(const Step& step, int element);

// The step in hand, or one element of it, has succeeded (or was undone). Where it cannot be told whether that
// was its last element, the step stays in hand, and next() says why; a pivot counts as passed.
void succeed(Progress& progress, const Next& what, int element, const void* state);

// What a failure leads to.
enum class Verdict { undo, again, help };
struct Trouble {
  enum class Kind {
    refusal,    // the business says no
    stale,      // what was read has changed
    passing,    // try again
    unknown     // a remote call without an answer
  } kind = Kind::refusal;
  Failure failure;
  std::optional<Retry> retry;       // instead of the step's own
  std::vector<int> unknown = {};    // elements beside it that have no answer: to be cancelled with what was done
  std::optional<Shortage> shortage = {};
};
// Whether it is tried for as long as patience lasts, and then a person is called: an undo, a call without an
// answer, and everything where there is no way back. Elsewhere retry() counts.
bool needs_patience(const Definition& definition, const Progress& progress, const Next& what, const Trouble& trouble);
// Turns progress towards it. `again`: the same once more, after pause_after(). `patience_over` matters where
// needs_patience() says so.
Verdict fail(const Definition& definition, Progress& progress, const Next& what, const Trouble& trouble,
             bool patience_over);
// `patient`: it doubles from try to try, up to ten seconds, instead of growing by the first.
Duration pause_after(const Retry& retry, int attempt, bool patient, Random& random);
// Undoes what was done. False: there is no way back, because of the pivot, because a
// call that cannot be cancelled has no answer yet, or because a child has not ended.
bool turn_back(const Definition& definition, Progress& progress, const void* state, Failure failure);
// Whether its deadline matters: before the pivot, while no child is under way, whose end comes first.
bool can_expire(const Definition& definition, const Progress& progress);
// The saga's time is over: turned back, or past the point where that matters. False: help is needed.
bool expire(const Definition& definition, Progress& progress, const void* state);
// Undoes everything, then begins anew: a lock out of order was not free. False: too often.
bool start_again(const Definition& definition, Progress& progress);

}  // namespace skald::saga
