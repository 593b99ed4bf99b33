// A scenario: a few sessions that do something at once, and what must hold
// afterwards in whatever order their round trips went.
#pragma once

#include <functional>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "interleave/stage.h"

namespace skald::test {

// One performance. Made on the reset stage, before any session runs.
class Play {
 public:
  virtual ~Play() = default;
  // The body of one session, on its own thread.
  virtual void run(int session) = 0;
  // Called after all have ended: what is wrong, empty where nothing is.
  virtual std::string verdict() = 0;
};

struct Scenario {
  std::string name;
  std::string about;
  int sessions = 2;
  std::set<int> stoppable = {};
  std::function<std::unique_ptr<Play>(Stage&)> make;
};

// A Scenario::make: P(stage, args...).
template <class P, auto... args>
std::unique_ptr<Play> make_play(Stage& stage) {
  return std::make_unique<P>(stage, args...);
}

// All of them; each file of plays adds its own.
std::vector<Scenario> scenarios();
void add_take_over_scenarios(std::vector<Scenario>& out);
void add_emit_scenarios(std::vector<Scenario>& out);
void add_membership_scenarios(std::vector<Scenario>& out);
void add_comeback_scenarios(std::vector<Scenario>& out);
void add_row_scenarios(std::vector<Scenario>& out);
void add_isolation_scenarios(std::vector<Scenario>& out);
void add_lock_scenarios(std::vector<Scenario>& out);
void add_saga_scenarios(std::vector<Scenario>& out);
void add_post_scenarios(std::vector<Scenario>& out);

inline constexpr char kKey[] = "key";

}  // namespace skald::test
