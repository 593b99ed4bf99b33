// Following an act on a workflow until it is through.
//
// An act is a saga. The one that was asked for is found by its type and its workflow; it has ended when the saga has.
// Starting and resuming is through when the workflow rests: its works are done, or it needs somebody.
#pragma once

#include <string>

#include "cli/api.h"
#include "cli/command.h"

namespace skald::cli {

struct ActEnd {
  bool done = false;     // it came to what was asked for
  std::string workflow;  // as it is now, in JSON; empty where it is gone
  std::string why;       // for a person, where it is not done
};

// `act`: start, pause, resume, cancel, delete, modify, checkpoint, restore or integrate, asked for just before. How far
// the workflow is goes to the terminal's progress. Throws what the API throws.
ActEnd follow_act(const Api& api, const Terminal& terminal, const std::string& workflow_id, const std::string& act);

}  // namespace skald::cli
