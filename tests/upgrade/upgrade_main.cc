// Two versions of the program on one database.
//   skald_upgrade [--other PROGRAM] [--name NAME] [--seconds N] [--bookings | --no-bookings]
// --bookings: the booking system alone; --no-bookings: all but that, for a version whose services do not use the post.
// Without another program this version follows itself. Needs SKALD_TEST_PG.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "support/built.h"
#include "upgrade/upgrade.h"

namespace skald::upgrade {
namespace {

Versions parse(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  const auto value = [&](const char* name, const std::string& otherwise) {
    const auto found = std::ranges::find(words, name);
    return found != words.end() && found + 1 != words.end() ? *(found + 1) : otherwise;
  };
  return {.own = {"this version", built::kProgram},
          .other = {value("--name", "the other version"), value("--other", built::kProgram)},
          .seconds = std::max(1, std::atoi(value("--seconds", "4").c_str()))};
}

int run(const Versions& versions, bool orders, bool bookings) {
  std::size_t faults = 0;
  const auto judge = [&](const Faults& found) {
    for (std::size_t i = 0; i < found.size() && i < 20; ++i) std::printf("FAULT: %s\n", found[i].c_str());
    faults += found.size();
    std::fflush(stdout);
  };
  const bool two = versions.own.program != versions.other.program;
  if (orders) {
    if (two) judge(stop_one(versions, versions.other, false));
    judge(stop_one(versions, versions.own, true));
    judge(roll(versions, versions.other, versions.own));
    if (two) judge(roll(versions, versions.own, versions.other));
    judge(meet_the_future(versions.own));
    if (two) judge(meet_the_future(versions.other));
  }
  if (bookings) {
    judge(roll_bookings(versions, versions.other, versions.own));
    if (two) judge(roll_bookings(versions, versions.own, versions.other));
  }
  std::printf("%s\n", faults == 0 ? "both work side by side" : "FAILED");
  return faults == 0 ? 0 : 1;
}

}  // namespace
}  // namespace skald::upgrade

int main(int argc, char** argv) {
  try {
    const std::vector<std::string> words(argv + 1, argv + argc);
    const auto said = [&](const char* word) { return std::ranges::find(words, word) != words.end(); };
    return skald::upgrade::run(skald::upgrade::parse(argc, argv), !said("--bookings"), !said("--no-bookings"));
  } catch (const std::exception& error) {  // caught, so that what was started is stopped
    std::printf("FAILED: %s\n", error.what());
    return 1;
  }
}
