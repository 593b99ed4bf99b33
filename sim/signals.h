// What ends a simulated step early. Neither derives from std::exception, so that
// no error handling of the product can swallow them.
#pragma once

#include <string>
#include <utility>

#include "env/foreign_code.h"

namespace skald::sim {

// The process dies here: nothing of its memory is left.
struct Crash : EndOfProcess {};

// The run has shown a bug.
struct BrokenInvariant : EndOfProcess {
  BrokenInvariant(std::string which, std::string what) : invariant(std::move(which)), text(std::move(what)) {}
  std::string invariant;  // "I2"
  std::string text;
};

}  // namespace skald::sim
