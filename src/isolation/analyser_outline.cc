#include "isolation/analyser_outline.h"

#include <algorithm>
#include <map>
#include <set>

namespace skald::analyser {
namespace {

using saga::Definition;
using saga::Kind;
using saga::Step;

constexpr int kDepthMax = 8;

Stage stage_of(const Step& step) {
  Stage out;
  out.name = step.name;
  out.local = step.kind == Kind::local;
  out.certain = !step.wanted && (!step.count || step.parallel);
  out.pivot = step.pivot;
  for (const DataAccess& access : step.accesses)
    out.touches.push_back({access.resource, access.kind == DataAccess::write, access.guard});
  // A mode that depends on the state may be none at all.
  for (const saga::Holds& holds : step.holds) out.locks.push_back({holds.resource, holds.fixed_mode});
  return out;
}

bool may_share(const Step& before, const Step& step) {
  return before.kind == Kind::local && step.kind == Kind::local && !before.commits && step.holds.empty();
}

class Flattener {
 public:
  explicit Flattener(const Definitions& definitions) {
    for (const Definition& each : definitions) {
      known_[{each.type, each.version}] = &each;
      ++versions_[each.type];
      for (const Step& step : each.steps)
        if (step.kind == Kind::child && step.child_type != each.type) children_[each.type].insert(step.child_type);
    }
    std::set<std::string> all;
    for (const auto& [parent, types] : children_) all.insert(types.begin(), types.end());
    for (const auto& [type, count] : versions_)
      if (!all.contains(type)) note_parts(type);
  }

  // Of a saga that is nobody's child; those of a circle stand for themselves.
  bool is_part(const Definition& definition) const { return parts_.contains(definition.type); }
  std::string name_of(const Definition& definition) const {
    const bool several = versions_.at(definition.type) > 1;
    return definition.type + (several ? " v" + std::to_string(definition.version) : "");
  }

  std::vector<Stage> flatten(const Definition& definition, int depth = 0) const {
    std::vector<Stage> out;
    std::vector<std::size_t> begins;  // of each step among the stages
    const auto& steps = definition.steps;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      begins.push_back(out.size());
      out.push_back(stage_of(steps[i]));
      out.back().apart = i == 0 || !may_share(steps[i - 1], steps[i]);
      add_child(out, steps[i], depth);
    }
    begins.push_back(out.size());
    tell_ways_back(definition, begins, out);
    return out;
  }

 private:
  void note_parts(const std::string& type) {
    const auto found = children_.find(type);
    if (found == children_.end()) return;
    for (const std::string& child : found->second)
      if (parts_.insert(child).second) note_parts(child);
  }

  void add_child(std::vector<Stage>& out, const Step& step, int depth) const {
    const auto found = known_.find({step.child_type, step.child_version});
    if (step.kind != Kind::child || found == known_.end() || depth == kDepthMax) return;
    const std::size_t offset = out.size();
    for (Stage& stage : flatten(*found->second, depth + 1)) {
      stage.name = step.name + " / " + stage.name;
      stage.certain = stage.certain && !step.wanted;
      stage.undone_until += offset;
      out.push_back(std::move(stage));
    }
  }

  static void tell_ways_back(const Definition& definition, const std::vector<std::size_t>& begins,
                             std::vector<Stage>& out) {
    const auto& steps = definition.steps;
    const auto pivot = std::ranges::find_if(steps, &Step::pivot);
    const bool has_pivot = pivot != steps.end();
    const std::size_t last = has_pivot ? static_cast<std::size_t>(pivot - steps.begin()) : steps.size() - 1;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      // The last of all fails with nothing behind it; one of several elements leaves the others.
      const bool fails_later = i < last || (!has_pivot && steps[i].count);
      if (!fails_later) continue;
      for (std::size_t stage = begins[i]; stage < begins[i + 1]; ++stage) {
        if (stage == begins[i]) out[stage].stays = has_pivot && steps[i].nothing_to_undo;
        if (!steps[i].undo) continue;
        out[stage].exposed = true;
        out[stage].undone_until = begins[last + 1] - 1;
      }
    }
  }

  std::map<std::pair<std::string, int>, const Definition*> known_;
  std::map<std::string, int> versions_;
  std::map<std::string, std::set<std::string>> children_;  // by their parent
  std::set<std::string> parts_;
};

}  // namespace

std::optional<LockMode> Outline::held(const std::string& resource, std::size_t stage) const {
  std::optional<LockMode> out;
  for (std::size_t i = 0; i <= stage; ++i) {
    if (!stages[i].certain && i != stage) continue;
    for (const Lock& lock : stages[i].locks)
      if (lock.resource == resource && lock.mode && out != LockMode::exclusive) out = lock.mode;
  }
  return out;
}

bool Outline::together(std::size_t first, std::size_t last) const {
  return std::all_of(stages.begin() + static_cast<std::ptrdiff_t>(first) + 1,
                     stages.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                     [](const Stage& stage) { return !stage.apart; });
}

bool Outline::long_work(std::size_t first, std::size_t last) const {
  return std::any_of(stages.begin() + static_cast<std::ptrdiff_t>(first),
                     stages.begin() + static_cast<std::ptrdiff_t>(last) + 1,
                     [](const Stage& stage) { return !stage.local; });
}

std::vector<Outline> outlines_of(const Definitions& definitions) {
  const Flattener flattener(definitions);
  std::vector<Outline> out;
  for (const Definition& each : definitions)
    if (!flattener.is_part(each) && !each.steps.empty())
      out.push_back({flattener.name_of(each), flattener.flatten(each)});
  return out;
}

std::vector<Spot> spots_of(const Outline& saga, const std::string& resource) {
  std::vector<Spot> out;
  for (std::size_t i = 0; i < saga.stages.size(); ++i)
    for (const Touch& touch : saga.stages[i].touches)
      if (touch.resource == resource) out.push_back({&saga, i, &touch});
  return out;
}

bool excluded(const Outline& a, std::size_t at_a, const Outline& b, std::size_t at_b, const std::string& resource) {
  const auto one = a.held(resource, at_a), other = b.held(resource, at_b);
  return one && other && (one == LockMode::exclusive || other == LockMode::exclusive);
}

}  // namespace skald::analyser
