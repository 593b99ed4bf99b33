// A definition whose steps, calls and undos are watched, and fail as the script says.
#pragma once

#include "sim_kit/stage.h"

namespace skald::sim::kit {

// `stage` must outlive it.
saga::Definition watched(saga::Definition definition, Stage& stage);

}  // namespace skald::sim::kit
