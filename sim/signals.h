// What ends a simulated step early. Neither derives from std::exception, so that
// no error handling of the product can swallow them.
#pragma once

#include <string>

namespace skald::sim {

// The process dies here: nothing of its memory is left.
struct Crash {};

// The run has shown a bug.
struct BrokenInvariant {
  std::string invariant;  // "I2"
  std::string text;
};

}  // namespace skald::sim
