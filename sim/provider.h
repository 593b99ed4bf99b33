// The world outside of the database that remote steps reach: it survives every crash
// and remembers every effect. It stands on the barrier, as a service of ours would.
//
// Calls are slow, lost on the way there or back, come late, or kill their caller.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/stage.h"
#include "skald/saga_definition.h"

namespace skald::sim {

class Provider {
 public:
  explicit Provider(Stage& stage) : stage_(stage) {}

  // Lets time pass in the process that calls.
  using Wait = std::function<void(Duration)>;

  struct Manner {
    bool declined = false;
    bool kills = false;     // whoever calls, until a person has helped
  };
  void act(const Remote& step, Manner manner, const Wait& wait);
  // Never works where it is `stuck`, until a person has helped.
  void cancel(const Remote& step, bool stuck, const Wait& wait);

  void help(const std::string& saga_id) { helped_.insert(saga_id); }
  bool has_helped(const std::string& saga_id) const { return helped_.contains(saga_id); }
  // For a function of the state, which may not know what it is asked.
  void ponder();
  // What was late arrives after all.
  void deliver_late();

 private:
  struct Action {
    std::string saga_id, key;
  };

  // The table says that this call is made, and it has one key whenever it is.
  void check_call(const Remote& step, bool undo);
  void suffer_before(const Remote& step, bool undo, const Wait& wait);
  void suffer_after();
  void perform(const Action& action);

  Stage& stage_;
  std::map<std::string, std::string> keys_;     // by saga and step
  std::map<std::string, std::int64_t> fences_;  // the highest that came with a key
  std::vector<Action> late_;
  std::set<std::string> helped_;
};

}  // namespace skald::sim
