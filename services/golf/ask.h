// How one service asks another: the other's own paths, in this process or over a bus. The
// asker counts as the system. Throws Unavailable where nobody answers.
#pragma once

#include <functional>

#include "skald/http.h"

namespace golf {

using Ask = std::function<skald::Response(const skald::Request&)>;

}  // namespace golf
