#include "order/lab_plan.h"

#include <algorithm>

#include "order/lab_sagas.h"
#include "skald/analyser.h"

namespace order {
namespace {

const char* const kTake = "take";

std::vector<skald::Saga<LabWork>> declared() {
  const auto local = [](skald::Local&, LabWork&) {};
  const auto remote = [](skald::Remote&, LabWork&) {};
  return {skald::Saga<LabWork>("A")
              .local(kTake, local)
              .undo(local)
              .writes("units", skald::Guard::commutative)
              .remote("pay", remote)
              .nothing_to_undo(),
          skald::Saga<LabWork>("B").local("look", local).nothing_to_undo().reads("units")};
}

}  // namespace

LabPlan plan_of_trade(bool pessimistic) {
  using skald::analyser::Anomaly;
  LabPlan plan{{LabStep::take, LabStep::pay}, std::nullopt};
  if (!pessimistic) return plan;
  const auto sagas = declared();
  const auto report = skald::analyser::analyse({sagas[0].definition(), sagas[1].definition()});
  for (const auto& finding : report.findings) {
    if (finding.anomaly != Anomaly::step_order || finding.first.step != kTake || !finding.advice) continue;
    std::ranges::reverse(plan.steps);  // of two, "as late as possible" is behind the other
    plan.advice = finding.advice;
    break;
  }
  return plan;
}

}  // namespace order
