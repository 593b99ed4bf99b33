// How many agents may run at once: in all, on this machine, and in one repository. A task that finds no place waits, and
// is woken when an agent ends.
//
// Servers that share a data folder are one machine here: that folder's runs are what lives on it, those of works that
// were stopped and do not want to end included.
#pragma once

#include "agentflow/flow.h"

namespace agentflow {

// Busy (AGENTS_BUSY) with what is lacking. For a task of that workflow, in the transaction that begins it.
void refuse_without_place(const Outside& outside, skald::Transaction& tx, const Workflow& workflow);

// Calls `freed(kind, name)` for each place that an agent of that workflow has had.
void free_places(skald::Transaction& tx, const std::string& workflow_id,
                 const std::function<void(const std::string& kind, const std::string& name)>& freed);

}  // namespace agentflow
