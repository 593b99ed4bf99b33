// Orders: of locks, which can make sagas stand in each other's way; and of steps, which
// decide how long others see what may be undone.
#include <algorithm>

#include "isolation/analyser_advice.h"
#include "isolation/analyser_outline.h"

namespace skald::analyser {
namespace {

struct Taken {
  std::string resource;
  std::size_t stage;
};

// Semantic locks in the order of the steps that declare them, each once.
std::vector<Taken> locks_of(const Outline& saga) {
  std::vector<Taken> out;
  for (std::size_t i = 0; i < saga.stages.size(); ++i)
    for (const Lock& lock : saga.stages[i].locks)
      if (std::ranges::find(out, lock.resource, &Taken::resource) == out.end()) out.push_back({lock.resource, i});
  return out;
}

bool only_shares(const Outline& saga, const std::string& resource) {
  for (const Stage& stage : saga.stages)
    for (const Lock& lock : stage.locks)
      if (lock.resource == resource && lock.mode != LockMode::shared) return false;
  return true;
}

// A takes `low` in a later step than `high`, which the engine's order has behind it.
Finding out_of_order(const Outline& a, const Taken& high, const Taken& low, const Outline& b, const Taken& other) {
  Finding out;
  out.severity = Severity::warning;
  out.anomaly = Anomaly::lock_order;
  out.resource = low.resource;
  out.first = a.place(low.stage);
  out.second = b.place(other.stage);
  out.covered_by = "ordered acquisition";
  out.explanation = quoted(out.first) + " takes " + low.resource + " while it holds " + high.resource + " since '" +
                    a.stages[high.stage].name + "', and " + b.name +
                    " takes both, too: they never deadlock, but where " + low.resource + " is not free " + a.name +
                    " is undone and starts again instead of waiting";
  out.advice = "declare both on the first step that locks: .holds(\"" + low.resource + "\", …) beside \"" +
               high.resource + "\" on '" + a.stages[high.stage].name + "'; the engine sorts them";
  return out;
}

// Row locks that one transaction takes one after the other.
std::vector<std::pair<Taken, Taken>> row_locks_of(const Outline& saga) {
  std::vector<Taken> all;
  for (std::size_t i = 0; i < saga.stages.size(); ++i)
    for (const Touch& touch : saga.stages[i].touches)
      if (touch.guard == Guard::row_lock && saga.stages[i].local) all.push_back({touch.resource, i});
  std::vector<std::pair<Taken, Taken>> out;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = i + 1; k < all.size(); ++k)
      if (all[i].resource != all[k].resource && saga.together(all[i].stage, all[k].stage))
        out.emplace_back(all[i], all[k]);
  return out;
}

Finding opposite_rows(const Outline& a, const std::pair<Taken, Taken>& taken, const Outline& b, const Taken& other) {
  const auto& [first, then] = taken;
  Finding out;
  out.severity = Severity::warning;
  out.anomaly = Anomaly::lock_order;
  out.resource = then.resource;
  out.first = a.place(then.stage);
  out.second = b.place(other.stage);
  out.explanation = quoted(out.first) + " locks rows of " + first.resource + ", then of " + then.resource + ", and " +
                    quoted(out.second) + " the other way round, each in one transaction: they can deadlock, and the " +
                    "database then fails one of them";
  out.advice = "lock rows in one order everywhere: take them through RowLocks with the same LockRanks in both";
  return out;
}

Finding advise(const std::string& resource, Place first, Place second, std::string explanation, std::string advice) {
  Finding out;
  out.anomaly = Anomaly::step_order;
  out.resource = resource;
  out.first = std::move(first);
  out.second = std::move(second);
  out.explanation = std::move(explanation);
  out.advice = std::move(advice);
  return out;
}

bool touches(const Stage& stage, const std::string& resource) {
  return std::ranges::any_of(stage.touches, [&](const Touch& touch) { return touch.resource == resource; });
}

// The last step before the way back ends that the write could be moved behind.
std::optional<std::size_t> could_come_after(const Outline& saga, std::size_t write) {
  const Stage& stage = saga.stages[write];
  const std::size_t end = saga.stages[stage.undone_until].pivot ? stage.undone_until : stage.undone_until + 1;
  std::optional<std::size_t> out;
  for (std::size_t i = write + 1; i < end; ++i) {
    for (const Touch& touch : stage.touches)
      if (touches(saga.stages[i], touch.resource)) return out;
    out = i;
  }
  return out;
}

void advise_later(const Outline& saga, const Finding& read, std::vector<Finding>& out) {
  for (std::size_t i = 0; i < saga.stages.size(); ++i) {
    if (saga.place(i) != read.second) continue;
    const auto after = could_come_after(saga, i);
    if (!after) continue;
    out.push_back(advise(read.resource, read.second, read.first,
                         quoted(read.second) + " writes " + read.resource + ", which " + quoted(read.first) +
                             " reads, long before there is no way back",
                         "write it as late as possible: put '" + read.second.step + "' behind '" +
                             saga.stages[*after].name + "' if that does not need it"));
  }
}

// The undo of an earlier step deals with what came of the same resource since.
bool is_undone_with_another(const Outline& saga, std::size_t at, const std::string& resource) {
  return std::any_of(saga.stages.begin(), saga.stages.begin() + static_cast<std::ptrdiff_t>(at),
                     [&](const Stage& stage) {
                       return !stage.stays && std::ranges::any_of(stage.touches, [&](const Touch& touch) {
                         return touch.write && touch.resource == resource;
                       });
                     });
}

void advise_on_pivot(const Outline& saga, std::vector<Finding>& out) {
  const auto pivot = std::ranges::find_if(saga.stages, &Stage::pivot);
  if (pivot == saga.stages.end()) return;
  const auto at = static_cast<std::size_t>(pivot - saga.stages.begin());
  for (std::size_t i = 0; i < saga.stages.size(); ++i)
    for (const Touch& touch : saga.stages[i].touches) {
      if (!touch.write) continue;
      if (saga.stages[i].stays && !is_undone_with_another(saga, i, touch.resource))
        out.push_back(advise(touch.resource, saga.place(i), saga.place(at),
                             quoted(saga.place(i)) + " writes " + touch.resource +
                                 ", which nothing undoes, while the saga can still be undone",
                             "put it right behind the pivot '" + pivot->name + "'"));
      const bool seen_before = std::any_of(saga.stages.begin(), saga.stages.begin() + static_cast<std::ptrdiff_t>(i),
                                           [&](const Stage& stage) { return touches(stage, touch.resource); });
      if (i > at && touch.guard == Guard::commutative && !seen_before)
        out.push_back(advise(touch.resource, saga.place(i), saga.place(at),
                             quoted(saga.place(i)) + " changes " + touch.resource +
                                 " for the first time behind the pivot '" + pivot->name + "'",
                             "where it takes, it can be refused and there is no way back: reserve before the pivot; "
                             "where it gives back, this is its place (release after refund)"));
    }
}

}  // namespace

std::vector<Finding> find_lock_orders(const Outline& a, const Outline& b) {
  std::vector<Finding> out;
  const auto own = locks_of(a), others = locks_of(b);
  for (const Taken& high : own)
    for (const Taken& low : own) {
      if (low.stage <= high.stage || low.resource >= high.resource) continue;
      const auto same = std::ranges::find(others, low.resource, &Taken::resource);
      if (same == others.end() || std::ranges::find(others, high.resource, &Taken::resource) == others.end()) continue;
      if (only_shares(a, low.resource) && only_shares(b, low.resource)) continue;
      out.push_back(out_of_order(a, high, low, b, *same));
    }
  for (const auto& mine : row_locks_of(a))
    for (const auto& theirs : row_locks_of(b))
      if (a.name <= b.name && mine.first.resource == theirs.second.resource &&
          mine.second.resource == theirs.first.resource)
        out.push_back(opposite_rows(a, mine, b, theirs.second));
  return out;
}

std::vector<Finding> find_step_orders(const std::vector<Outline>& sagas, const std::vector<Finding>& findings) {
  std::vector<Finding> out;
  for (const Outline& saga : sagas) {
    for (const Finding& each : findings)
      if (each.anomaly == Anomaly::dirty_read && !each.covered_by && each.second.saga == saga.name)
        advise_later(saga, each, out);
    advise_on_pivot(saga, out);
  }
  return out;
}

}  // namespace skald::analyser
