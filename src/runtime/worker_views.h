// The workers of a database, as operators see them.
#pragma once

#include <vector>

#include "skald/engine.h"

namespace skald::runtime {

std::vector<WorkerView> workers_of(Transaction& tx);

}  // namespace skald::runtime
