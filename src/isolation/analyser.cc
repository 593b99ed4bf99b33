#include "skald/analyser.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "isolation/analyser_advice.h"
#include "isolation/analyser_outline.h"

namespace skald::analyser {
namespace {

std::set<std::string> resources_of(const Outline& saga) {
  std::set<std::string> out;
  for (const Stage& stage : saga.stages)
    for (const Touch& touch : stage.touches) out.insert(touch.resource);
  return out;
}

bool counts(const Finding& finding) { return finding.severity != Severity::note && !finding.covered_by; }

// What is to be done comes first.
auto rank(const Finding& finding) {
  return std::tuple(counts(finding) ? 0 : 1, -static_cast<int>(finding.severity), static_cast<int>(finding.anomaly));
}

// The worst of each anomaly, two sagas and resource; of equals the first.
class Worst {
 public:
  void add(std::vector<Finding> findings) {
    for (Finding& each : findings) {
      const Key key{each.anomaly, each.first.saga, each.second.saga, each.resource};
      const auto [at, is_new] = kept_.try_emplace(key, each);
      if (!is_new && rank(each) < rank(at->second)) at->second = std::move(each);
    }
  }
  std::vector<Finding> all() const {
    std::vector<Finding> out;
    for (const auto& [key, finding] : kept_) out.push_back(finding);
    return out;
  }

 private:
  using Key = std::tuple<Anomaly, std::string, std::string, std::string>;
  std::map<Key, Finding> kept_;
};

std::string title(Anomaly anomaly) {
  std::string out(enum_name(anomaly));
  std::ranges::replace(out, '_', ' ');
  return out;
}

// Who reads it must not take what is covered, or advice, for something that can happen.
std::string label(const Finding& finding) {
  if (finding.covered_by) return "covered";
  return counts(finding) ? std::string(enum_name(finding.severity)) : "advice";
}

}  // namespace

Report analyse(const Definitions& definitions) {
  const auto sagas = outlines_of(definitions);
  Worst worst;
  for (const Outline& a : sagas)
    for (const Outline& b : sagas) {
      const auto theirs = resources_of(b);
      for (const std::string& resource : resources_of(a))
        if (theirs.contains(resource)) worst.add(find_anomalies(a, b, resource));
      worst.add(find_lock_orders(a, b));
    }
  worst.add(find_step_orders(sagas, worst.all()));

  Report report;
  for (const Outline& saga : sagas) report.sagas.push_back(saga.name);
  std::multimap<decltype(rank(Finding{})), Finding> ranked;  // equals stay in order
  for (const Finding& each : worst.all()) ranked.emplace(rank(each), each);
  for (auto& [unused, each] : ranked) report.findings.push_back(std::move(each));
  report.uncovered = std::ranges::count_if(report.findings, counts);
  return report;
}

std::string report_text(const Report& report, bool all) {
  std::string out;
  std::size_t covered = 0, advice = 0;
  for (const Finding& each : report.findings) {
    if (each.covered_by) ++covered;
    else if (!counts(each)) ++advice;
    if (!all && !counts(each)) continue;
    out += label(each) + ": " + title(each.anomaly) + " on " + each.resource + "\n  " + each.explanation + ".\n";
    if (each.covered_by) out += "  Covered by: " + *each.covered_by + ".\n";
    else if (counts(each)) out += "  Nothing covers it.\n";
    if (each.advice) out += "  To do: " + *each.advice + ".\n";
    out += '\n';
  }
  out += std::to_string(report.sagas.size()) + " sagas, " + std::to_string(report.uncovered) +
         " findings that nothing covers, " + std::to_string(covered) + " covered";
  if (advice > 0) out += ", " + std::to_string(advice) + " of advice";
  return out + '\n';
}

std::string report_json(const Report& report) { return to_json(report); }

}  // namespace skald::analyser
