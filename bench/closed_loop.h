// Work that is begun again as soon as it has ended, in so many threads at once.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "measure.h"

namespace bench {

// For `seconds`; `work` gets the number of its thread and of the piece of work, which
// counts up across all. When each piece began and ended. Throws where one has thrown.
std::vector<Stamp> closed_loop(int threads, double seconds,
                               const std::function<void(int thread, std::int64_t n)>& work);

}  // namespace bench
