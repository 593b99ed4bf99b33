#include "isolation/analyser_advice.h"

#include <algorithm>

namespace skald::analyser {
namespace {

std::string from_on(const Spot& spot) { return spot.saga->name + " from '" + spot.where().name + "' on"; }

bool depends_on_state(const Outline& saga, const std::string& resource) {
  return std::ranges::any_of(saga.stages, [&](const Stage& stage) {
    return std::ranges::any_of(stage.locks, [&](const Lock& lock) { return lock.resource == resource && !lock.mode; });
  });
}

// "let order.place hold product from 'reserve' on, one of them exclusively"
std::string hold_it(const Spot& one, const Spot& other) {
  const std::string& resource = one.touch->resource;
  const bool one_holds = one.saga->held(resource, one.stage).has_value();
  const bool other_holds = other.saga->held(resource, other.stage).has_value();
  const bool same = one.saga == other.saga && one.stage == other.stage;
  if (one_holds && other_holds)
    return "both sagas share the lock on " + resource + ": let one of them hold it exclusively";
  std::string who;
  if (!one_holds) who = from_on(one);
  if (!other_holds && !same) who += (who.empty() ? "" : " and ") + from_on(other);
  std::string out = "hold " + resource + " in " + who + " (semantic lock, exclusive: for long work with clear states)";
  if (depends_on_state(*one.saga, resource) || depends_on_state(*other.saga, resource))
    out += "; a lock whose mode depends on the state may be none and does not count";
  return out;
}

constexpr const char* kCommutative =
    "write a difference in one guarded statement (commutative: where order does not matter)";
constexpr const char* kVersionFile = "keep a version file (where audit or replay is needed)";

std::string check_version(const Spot& basis, const Spot& at) {
  return "check in '" + at.where().name + "' the version that '" + basis.where().name +
         "' saw (reread or optimistic: where conflicts are rare)";
}

std::string raise_version(const Spot& other) {
  return "let " + quoted(other.place()) +
         " raise the version that is checked: write it optimistically, by reread or commutatively, and declare it";
}

}  // namespace

std::string name_of(Guard guard) {
  switch (guard) {
    case Guard::none: return "nothing";
    case Guard::commutative: return "commutative update";
    case Guard::reread: return "reread";
    case Guard::optimistic: return "optimistic lock";
    case Guard::row_lock: return "row lock";
    case Guard::version_file: return "version file";
    case Guard::idempotency_key: return "idempotency key";
  }
  return "nothing";
}

std::string quoted(const Place& place) { return place.saga + " '" + place.step + "'"; }

std::string advice_on_dirty_read(const Spot& read, const Spot& write) {
  std::string why;
  if (read.touch->guard == Guard::reread || read.touch->guard == Guard::optimistic)
    why = "a check of the version comes too early where the undo comes after it; ";
  else if (read.touch->guard == Guard::row_lock)
    why = "a row lock waits for the other transaction, not for the other saga; ";
  return why + hold_it(read, write) +
         "; or read its version file, which shows what is pending (where audit or replay " + "is needed)";
}

std::string advice_on_lost_update(const Spot& basis, const Spot& write, const Spot& other) {
  const Guard guard = write.touch->guard;
  if (guard == Guard::reread || guard == Guard::optimistic) return raise_version(other);
  const Spot held{write.saga, basis.stage, write.touch};
  std::string why;
  if (guard == Guard::row_lock || basis.touch->guard == Guard::row_lock)
    why = "a row lock ends with its transaction: read and write in one local step; or ";
  if (write.saga->long_work(basis.stage, write.stage))
    return why + hold_it(held, other) + "; or " + check_version(basis, write) + "; or " + kCommutative;
  return why + kCommutative + "; or " + check_version(basis, write) + "; or lock the row in the step that reads and " +
         "writes it (row lock); or " + kVersionFile;
}

std::string advice_on_non_repeatable_read(const Spot& basis, const Spot& again, const Spot& other) {
  if (again.touch->guard == Guard::reread || again.touch->guard == Guard::optimistic) return raise_version(other);
  const Spot held{again.saga, basis.stage, again.touch};
  const std::string keep = "keep what '" + basis.where().name + "' saw in the saga's state, or ";
  if (again.saga->long_work(basis.stage, again.stage))
    return keep + hold_it(held, other) + "; or " + check_version(basis, again);
  return keep + check_version(basis, again) + "; or " + hold_it(held, other);
}

std::string advice_on_dirty_undo(const Spot& write, const Spot& other) {
  if (write.touch->guard == Guard::commutative)
    return "let " + quoted(other.place()) + " " + kCommutative + ", too; or " + hold_it(write, other);
  const std::string relative =
      "undo relatively: " + std::string(kCommutative) + " in both, and give it back by the undo";
  if (write.saga->long_work(write.stage, write.where().undone_until))
    return hold_it(write, other) + "; or " + relative + "; or " + kVersionFile;
  return relative + "; or " + hold_it(write, other) + "; or " + kVersionFile;
}

}  // namespace skald::analyser
