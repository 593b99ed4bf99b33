// Works side by side. Works that follow each other and have the same `parallel` are a group: they begin together, each in
// worktrees of its own, and what they did is joined when all of them are through. Until then a work that is added behind
// them under the same name is one of them; afterwards it begins another group.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// In their order, with the status that the workflow has heard of: one whose end is not noted yet still runs.
std::vector<Work> works_as_noted(skald::Transaction& tx, const Workflow& workflow);

// Those whose turn it is: the first that is not through, with the others of its group. Empty: all are through.
std::vector<Work> works_in_turn(const std::vector<Work>& works);

// Whether it is a group whose works are all COMPLETED, with their checkpoints kept.
bool can_be_joined(skald::Transaction& tx, const std::vector<Work>& turn);

// Why the workflow cannot go on. Nothing where it does not run any more.
void fail_workflow(skald::Transaction& tx, const std::string& workflow_id, const std::string& why);

}  // namespace agentflow
