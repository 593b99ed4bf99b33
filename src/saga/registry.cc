#include "saga/registry.h"

#include <algorithm>

#include "saga/progress.h"

namespace skald::saga {
namespace {

int moved_step(const Definition& definition, const std::string& name) {
  if (name.empty()) return static_cast<int>(definition.steps.size());
  for (std::size_t i = 0; i < definition.steps.size(); ++i)
    if (definition.steps[i].name == name) return static_cast<int>(i);
  throw Invalid("SAGA_VERSION", definition.type + ": a migration names the step '" + name + "', which does not exist");
}

// Its id is made from the step's place: the parent moves when it has ended.
bool has_child(const Definition& definition, const Progress& progress) {
  const auto in_hand = static_cast<std::size_t>(progress.step);
  return progress.called && in_hand < definition.steps.size() && definition.steps[in_hand].kind == Kind::child;
}

}  // namespace

void Registry::add(Definition definition) {
  check(definition);
  const auto key = std::pair(definition.type, definition.version);
  if (definitions_.contains(key))
    throw Invalid("SAGA_DEFINITION", definition.type + " version " + std::to_string(definition.version) +
                                         " is added twice: give the new one a higher version()");
  definitions_.emplace(key, std::move(definition));
}

const Definition& Registry::latest(const std::string& type) const {
  auto found = definitions_.upper_bound({type, std::numeric_limits<int>::max()});
  if (found == definitions_.begin() || (--found)->first.first != type)
    throw NotFound("NO_SUCH_SAGA", "no saga '" + type + "' is known here: add its definition to the engine");
  return found->second;
}

bool Registry::defines(const std::string& type) const {
  return std::ranges::any_of(definitions_, [&](const auto& one) { return one.first.first == type; });
}

const Definition& Registry::resume(tables::saga::Row& row) const {
  const Definition& newest = latest(row.type);
  const auto rule = newest.migrations.find(row.revision);
  if (rule != newest.migrations.end()) {
    const auto old = definitions_.find({row.type, row.revision});
    auto progress = from_json<Progress>(row.progress);
    const bool can = !progress.undoing && old != definitions_.end() && !has_child(old->second, progress);
    if (can) {
      const auto& steps = old->second.steps;
      const auto in_hand = static_cast<std::size_t>(progress.step);
      const Migrated moved = rule->second({in_hand < steps.size() ? steps[in_hand].name : "", RawJson{row.state}});
      for (Done& done : progress.done) done.step = moved_step(newest, steps[static_cast<std::size_t>(done.step)].name);
      progress.step = moved_step(newest, moved.next_step);
      row.state = moved.state.text;
      row.progress = to_json(progress);
      row.revision = newest.version;
      return newest;
    }
  }
  const auto own = definitions_.find({row.type, row.revision});
  if (own == definitions_.end())
    throw NotFound("NO_SUCH_SAGA", "version " + std::to_string(row.revision) + " of the saga '" + row.type +
                                       "' is not known here: keep its definition until its sagas have ended");
  return own->second;
}

}  // namespace skald::saga
