// The pessimistic view in the lab: the order of a saga's steps that exposes as little as possible, as the analyser
// (`skald lint`) advises for sagas that are declared as the lab's two are.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace order {

// What A does in the story of the dirty read: it takes units, which B reads, and pays for them.
enum class LabStep { take, pay };

struct LabPlan {
  std::vector<LabStep> steps;
  std::optional<std::string> advice;  // the analyser's, where it was followed
};

// As A is declared, or as the analyser would have it.
LabPlan plan_of_trade(bool pessimistic);

}  // namespace order
