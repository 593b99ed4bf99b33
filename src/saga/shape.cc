#include "saga/shape.h"

#include <algorithm>
#include <vector>

namespace skald::saga {
namespace {

std::string kind_of(const Step& step) {
  if (step.kind == Kind::local && !step.run) return "given";
  return std::string(enum_name(step.kind));
}

// Names are quoted as JSON does it: whatever they hold, a line stays a line.
std::string line_of(const Step& step) {
  std::string out = to_json(step.name) + " " + kind_of(step);
  if (step.parallel) out += " of " + to_json(step.branches);
  else if (step.count) out += " each";
  if (step.kind == Kind::await) out += " " + to_json(step.signal);
  if (step.kind == Kind::child)
    out += " " + to_json(step.child_type) + " version " + std::to_string(step.child_version);
  if (step.undo) out += step.undo.local ? ", undo local" : ", undo remote";
  if (step.pivot) out += ", pivot";
  return out;
}

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace

std::string shape_of(const Definition& definition) {
  std::string out = definition.forward_only ? "forward only\n" : "with a way back\n";
  for (const Step& step : definition.steps) out += line_of(step) + "\n";
  return out;
}

std::string first_difference(std::string_view was, std::string_view is) {
  const auto before = lines_of(was), after = lines_of(is);
  const auto at = static_cast<std::size_t>(std::ranges::mismatch(before, after).in1 - before.begin());
  const std::string place = at == 0 ? "it" : "step " + std::to_string(at);
  if (at >= before.size()) return place + " is new: " + std::string(after[at]);
  if (at >= after.size()) return place + " is gone: " + std::string(before[at]);
  return place + " was " + std::string(before[at]) + " and is " + std::string(after[at]);
}

}  // namespace skald::saga
