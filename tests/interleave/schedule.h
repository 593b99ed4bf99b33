// An order in which sessions take their turns: who goes next at each switch point.
// As text "0,1,1,s0": session 0, 1, 1, then session 0 is stopped.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace skald::test {

struct Choice {
  int session = 0;
  bool stop = false;  // gets no turn until all others are done, as by SIGSTOP
  bool operator==(const Choice&) const = default;
};
using Schedule = std::vector<Choice>;

std::string to_text(const Choice& choice);
std::string to_text(const Schedule& schedule);
// Throws Invalid (BAD_SCHEDULE).
Schedule parse_schedule(std::string_view text);

}  // namespace skald::test
