// GET /api/isolation: what the analyser says of this program's sagas.
#include <map>

#include "http/engine_paths.h"
#include "skald/analyser.h"

namespace skald::http {
namespace {

// What is to be done comes first, then what is worse.
auto urgency(const analyser::Finding& finding) {
  const bool open = finding.severity != analyser::Severity::note && !finding.covered_by;
  return std::pair(!open, -static_cast<int>(finding.severity));
}

// Sagas meet in their own database only: neither rows nor semantic locks of one service
// are another's, though they may have one name.
analyser::Report report_on(const Engines& engines) {
  analyser::Report out;
  std::multimap<std::pair<bool, int>, analyser::Finding> ranked;  // equals stay in order
  for (const ServiceEngine& of : engines) {
    auto report = analyser::analyse(of.engine.sagas().definitions());
    out.sagas.insert(out.sagas.end(), report.sagas.begin(), report.sagas.end());
    out.uncovered += report.uncovered;
    for (auto& finding : report.findings) ranked.emplace(urgency(finding), std::move(finding));
  }
  for (auto& [unused, finding] : ranked) out.findings.push_back(std::move(finding));
  return out;
}

}  // namespace

void add_isolation_paths(Routes& routes, const Engines& engines) {
  routes.get(
      "/api/isolation", Access::admin,
      describe<void, analyser::Report>("Where this program's sagas could corrupt each other, the worst first"),
      [engines](const Request&) { return Response{200, report_json(report_on(engines)), "application/json", {}}; });
}

}  // namespace skald::http
