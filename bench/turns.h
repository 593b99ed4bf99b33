// Two versions in turns. Who comes first changes with each round: that one finds the machine as others left it.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "measure.h"

namespace bench {

enum class Turn : std::size_t { before, now };

// What each of the two came to, a figure per round.
struct Turns {
  std::array<std::vector<double>, 2> figures;

  void add(Turn turn, double figure) { figures[static_cast<std::size_t>(turn)].push_back(figure); }
  const std::vector<double>& of(Turn turn) const { return figures[static_cast<std::size_t>(turn)]; }
  double middle(Turn turn) const { return median(of(turn)); }
};

template <typename Run>
void in_turns(int rounds, const Run& run) {
  for (int round = 0; round < rounds; ++round) {
    const bool even = round % 2 == 0;
    run(even ? Turn::before : Turn::now);
    run(even ? Turn::now : Turn::before);
  }
}

}  // namespace bench
