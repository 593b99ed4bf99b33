// What everything in one run shares: time, chance, the script, the disk that outlives
// every process, and what was seen.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "env/foreign_code.h"
#include "saga/registry.h"
#include "sim_kit/clock.h"
#include "sim_kit/random.h"
#include "sim_kit/script.h"
#include "skald/sim.h"
#include "store/sqlite/database.h"

namespace skald::sim::kit {

// The process dies here. No std::exception, so that nobody can catch it by accident.
struct Crash : EndOfProcess {};

class Stage {
 public:
  Stage(const Scenario& scenario, Script script);

  // Past every fault. Not by Database::read(), which in memory makes SQLite compile
  // every statement anew.
  void look(const Database::Body& body) { disk.write("look", body); }
  // Runs one of the user's checks.
  void check(const std::function<void(Look&)>& check);
  void note(std::string line);
  void violate(std::string sentence) { violations.push_back(std::move(sentence)); }
  // What goes wrong here, told in the story.
  std::optional<Kind> meet(const Place& place);

  const Scenario& scenario;
  Script script;
  Timeline timeline;
  SimClock clock;
  SimRandom random;
  sqlite::SqliteDatabase disk;
  saga::Registry registry;                            // of watched definitions
  Duration deadline{};                                // the latest of them; zero: there is none
  std::vector<std::string> ids;                       // of the scenario's starts
  std::vector<std::string> violations;
  std::vector<std::string> story;
  std::vector<std::function<void()>> late;            // calls that arrive after all else
  std::set<std::string> made;                         // idempotency keys of calls that were made
  std::map<std::string, std::string> keys;            // idempotency keys by saga, step and element
};

}  // namespace skald::sim::kit
