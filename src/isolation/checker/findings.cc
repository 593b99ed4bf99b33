#include "isolation/checker/findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

namespace skald::checker {
namespace {

std::string_view cover(Anomaly anomaly) {
  switch (anomaly) {
    case Anomaly::dirty_read:
      return "semantic lock: both hold the row, the writer exclusively until it ends; or the reader rereads";
    case Anomaly::lost_update:
      return "optimistic version checked by the update itself, a commutative update, or an exclusive semantic lock";
    case Anomaly::non_repeatable_read:
      return "reread: check the version first seen in the update, rereads(step); or a semantic lock from the first "
             "read";
    case Anomaly::dirty_undo:
      return "commutative update with a relative undo; or an exclusive semantic lock from the write to the saga's end";
    case Anomaly::orphan_effect:
      return "write effects in the transaction that records the step, give the step an undo, and let rescue end the "
             "saga";
    case Anomaly::double_compensation:
      return "barrier: pass_barrier(tx, saga, step, Side::undo) first in the undo, in the effect's transaction";
    case Anomaly::empty_compensation:
      return "barrier: pass_barrier in the undo's transaction, which tells that there is nothing to undo";
    case Anomaly::overlapping_locks:
      return "take the lock by holds() only, and check the fence where the effect is written";
    case Anomaly::order_inversion:
      return "barrier for an action behind its undo; versions drawn under the row's lock; reads from the primary";
    case Anomaly::cycle:
      return "semantic locks on all rows of the circle, taken in one global order; or reread what was only read";
  }
  return "";
}

bool is_of_step(Anomaly anomaly) {
  return anomaly == Anomaly::double_compensation || anomaly == Anomaly::empty_compensation ||
         anomaly == Anomaly::orphan_effect;
}

}  // namespace

std::string Findings::who(Index entry) const {
  const Operation& one = history_.operation(entry);
  return fmt::format("saga '{}' ({}){}", one.saga_id, one.saga_type,
                     one.step.empty() ? "" : fmt::format(" in step '{}'", one.step));
}

std::string Findings::row(Index entry) const {
  const Operation& one = history_.operation(entry);
  return one.resource.empty() && one.key.empty() ? "its effect" : one.resource + "/" + one.key;
}

Edge Findings::edge(EdgeKind kind, Index from, Index to) const {
  const Operation& a = history_.operation(from);
  const Operation& b = history_.operation(to);
  return {kind, a.saga_id, b.saga_id, b.resource, b.key};
}

// What is reported once. Of effects and compensations one a step: the step's own record and those of
// its rows tell the same.
std::string Findings::identity(Anomaly anomaly, const std::vector<Index>& entries) const {
  std::vector<Index> sagas;
  for (const Index entry : entries) sagas.push_back(history_.entries[entry].saga);
  std::sort(sagas.begin(), sagas.end());
  sagas.erase(std::unique(sagas.begin(), sagas.end()), sagas.end());
  const Entry& first = history_.entries[entries.front()];
  return fmt::format("{} {} {}", static_cast<int>(anomaly), is_of_step(anomaly) ? first.run : first.row,
                     fmt::join(sagas, ","));
}

// Where one of them holds the row's lock and another does not even ask for it, that is the hole.
std::string Findings::countermeasure(Anomaly anomaly, const std::vector<Index>& entries) const {
  Index holder = kNone, stranger = kNone;
  if (anomaly != Anomaly::cycle && anomaly != Anomaly::overlapping_locks) {
    for (const Index entry : entries) {
      const Index access = history_.entries[entry].access;
      if (access == kNone) continue;
      (history_.locked[access] ? holder : stranger) = entry;
    }
  }
  if (holder == kNone || stranger == kNone) return std::string(cover(anomaly));
  const Operation& outside = history_.operation(stranger);
  return fmt::format("{} holds the lock of {} and {} goes past it: declare holds(\"{}\", …) in {} too", who(holder),
                     row(holder), who(stranger), outside.resource, outside.saga_type);
}

bool Findings::add(Anomaly anomaly, const std::vector<Index>& entries, std::vector<Edge> edges,
                   std::string explanation) {
  if (found_.size() >= max_) return false;
  const Operation& first = history_.operation(entries.front());
  const auto [known, fresh] = known_.try_emplace(identity(anomaly, entries), found_.size());
  if (!fresh) {
    Finding& old = found_[known->second];
    if (old.resource.empty()) old.resource = first.resource, old.key = first.key;
    return false;
  }
  Finding& finding = found_.emplace_back();
  finding.anomaly = anomaly;
  finding.resource = first.resource;
  finding.key = first.key;
  for (const Index entry : entries) {
    const Operation& one = history_.operation(entry);
    finding.parts.push_back({one.saga_id, one.saga_type, one.step, one.kind, one.at});
  }
  finding.edges = std::move(edges);
  finding.explanation = std::move(explanation);
  finding.countermeasure = countermeasure(anomaly, entries);
  return true;
}

bool Findings::explained(const std::vector<Index>& entries) const {
  for (const auto anomaly : {Anomaly::lost_update, Anomaly::non_repeatable_read, Anomaly::order_inversion})
    if (known_.contains(identity(anomaly, entries))) return true;
  return false;
}

std::vector<Finding> Findings::take() {
  const auto place = [](const Finding& one) {
    return std::tie(one.parts.front().at, one.anomaly, one.resource, one.key, one.explanation);
  };
  std::sort(found_.begin(), found_.end(), [&](const Finding& a, const Finding& b) { return place(a) < place(b); });
  return std::move(found_);
}

}  // namespace skald::checker
