// The table that tells of every planted bug what caught it.
#pragma once

#include <ostream>
#include <span>
#include <string>

namespace skald::sim {

struct PlantedRow {
  std::string rule;        // of src/env/seam.h
  std::string bug;         // what was broken, in one sentence
  std::string caught_by;   // an invariant or a check; empty: nothing noticed it
  std::string after;       // "12 seeds"
};

void print_planted(std::ostream& out, std::span<const PlantedRow> rows);

}  // namespace skald::sim
