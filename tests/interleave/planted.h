// Breaks one rule of env/seam.h while it lives: the bug that must be found.
// Programs that compile planted.cc have this instead of seam_intact.cc.
#pragma once

#include "env/seam.h"

namespace skald::test {

// One at a time; set and ended while nothing else runs.
class Planted {
 public:
  explicit Planted(seam::Rule rule);
  ~Planted();
  Planted(const Planted&) = delete;
  Planted& operator=(const Planted&) = delete;
};

}  // namespace skald::test
