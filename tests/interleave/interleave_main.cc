// skald_interleave: sessions on a real PostgreSQL (SKALD_TEST_PG) in every order.
//   (no argument)                     every scenario
//   --scenario NAME                   only that one
//   --schedules N                     at most N orders of each (default 1000; 0: all)
//   --scenario NAME --schedule 0,1,s0 one order, with everything it sends
//   --planted                         breaks rules, one at a time; each must be caught
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>
#include <stdexcept>

#include "interleave/explorer.h"
#include "interleave/planted_bugs.h"

namespace skald::test {
namespace {

struct Arguments {
  std::string scenario;
  std::optional<std::string> schedule;
  int schedules_max = 1000;
  bool planted = false;
};

Arguments parse(int count, char** words) {
  Arguments out;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--planted") {
      out.planted = true;
      continue;
    }
    if (i + 1 == count) throw std::invalid_argument("unknown, or without its value: " + word);
    const std::string value = words[++i];
    if (word == "--scenario") out.scenario = value;
    else if (word == "--schedule") out.schedule = value;
    else if (word == "--schedules")
      out.schedules_max = std::stoi(value) > 0 ? std::stoi(value) : std::numeric_limits<int>::max();
    else throw std::invalid_argument("unknown: " + word);
  }
  return out;
}

std::string extent(const Exploration& exploration) {
  if (exploration.complete) return "every order";
  return exploration.preemptions == 0 ? "a part of the orders without preemption"
                                      : fmt::format("every order with at most {} preemptions, and some with {}",
                                                    exploration.preemptions - 1, exploration.preemptions);
}

bool explore_all(Stage& stage, const std::vector<Scenario>& chosen, int schedules_max) {
  bool good = true;
  for (const Scenario& scenario : chosen) {
    const auto begun = std::chrono::steady_clock::now();
    const Exploration exploration = explore(stage, scenario, schedules_max);
    const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
    fmt::print("{:<15} {} {:>5} schedules ({}) in {:.1f} s: {}\n", scenario.name,
               exploration.finding ? "FAILED" : "passed", exploration.schedules, extent(exploration), took.count(),
               scenario.about);
    if (exploration.diverged > 0) fmt::print("  {} runs did not follow their schedule\n", exploration.diverged);
    if (exploration.finding) fmt::print("{}", report(scenario, *exploration.finding));
    std::fflush(stdout);
    good = good && !exploration.finding && exploration.diverged == 0;
  }
  return good;
}

bool replay_one(Stage& stage, const Scenario& scenario, const std::string& text) {
  const Replay run = replay(stage, scenario, parse_schedule(text));
  if (run.performance.diverged) fmt::print("the schedule names a session that could not go; the rest is without it\n");
  fmt::print("{}", report(scenario,
                          {run.what.empty() ? "passed" : run.what, run.performance.schedule(), run.performance.trace}));
  return run.what.empty();
}

// Columns as in the simulator's table.
bool catch_all(Stage& stage, int schedules_max) {
  std::size_t count = 0;
  const auto bugs = planted_bugs();
  fmt::print("rule | what is broken | caught by | after | what was seen\n");
  for (const PlantedBug& bug : bugs) {
    const auto caught = catch_bug(stage, bug, schedules_max);
    count += caught ? 1 : 0;
    fmt::print("{} | {} | {} | {} schedules | {}\n", bug.rule_name, bug.bug, caught ? caught->by : "NOT CAUGHT",
               caught ? caught->schedules : schedules_max, caught ? caught->what : "nothing");
    std::fflush(stdout);
  }
  fmt::print("{} of {} planted bugs caught by the interleaver and the fault proxy\n", count, bugs.size());
  return count == bugs.size();
}

bool run(const Arguments& arguments) {
  std::vector<Scenario> chosen = scenarios();
  if (!arguments.scenario.empty())
    std::erase_if(chosen, [&](const Scenario& scenario) { return scenario.name != arguments.scenario; });
  if (chosen.empty()) throw std::invalid_argument("no scenario " + arguments.scenario);
  if (arguments.schedule && chosen.size() != 1) throw std::invalid_argument("--schedule needs --scenario");
  Stage stage;
  if (arguments.planted) return catch_all(stage, arguments.schedules_max);
  if (arguments.schedule) return replay_one(stage, chosen.front(), *arguments.schedule);
  return explore_all(stage, chosen, arguments.schedules_max);
}

}  // namespace
}  // namespace skald::test

int main(int count, char** words) {
  try {
    return skald::test::run(skald::test::parse(count, words)) ? 0 : 1;
  } catch (const std::exception& error) {
    fmt::print(stderr, "skald_interleave: {}\n", error.what());
    return 2;
  }
}
