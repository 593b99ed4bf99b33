// The commands of `skald flow`: workflows of agents.
#pragma once

#include <vector>

#include "cli/arguments.h"

namespace skald::cli {

std::vector<Command> flow_commands();

}  // namespace skald::cli
