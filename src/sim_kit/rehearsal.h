// One run of a scenario: clients start their sagas, workers run them, something goes
// wrong as the script says, and in the end everything is looked at.
//
// A dead worker's sagas become due after a lease, as the engine's membership has it; that
// itself is proven by the simulator in sim/, not here.
#pragma once

#include <deque>

#include "sim_kit/worker.h"

namespace skald::sim::kit {

class Rehearsal {
 public:
  Rehearsal(const Scenario& scenario, Script script);

  void run();
  Stage& stage() { return stage_; }

 private:
  struct Client {
    std::size_t start;
    Instant due;
    bool told = false;                   // that its saga is there
  };
  struct Slot {
    std::unique_ptr<Worker> worker;      // null: dead, until `due`
    std::string died = {};               // whose sagas are not taken over yet
    Instant due{};
  };

  // One decision. False: every saga has ended.
  bool step();
  void work(Slot& slot);
  void ask(Client& client);
  void boot(Slot& slot);
  // Runs `body` as a part of the process, which may die in it.
  void inside(Slot& slot, const std::function<void()>& body);
  Slot* anybody();
  // A write past every fault.
  void outside(std::string_view name, const Database::Body& body);
  // What the outside does when nobody has anything to do at once.
  bool attend(const std::vector<tables::saga::Row>& live);
  bool send_signal(const tables::saga::Row& row);
  bool help(const tables::saga::Row& row);
  std::vector<tables::saga::Row> live();
  std::string unfinished();
  bool all_told() const;
  void wake_all();
  Duration between(Duration low, Duration high);
  Instant now() const { return stage_.timeline.steady(); }

  Stage stage_;
  Chronicle chronicle_;
  std::deque<Slot> slots_;
  std::deque<Client> clients_;
  int boots_ = 0;
  std::map<std::string, int> helped_;
  std::map<std::string, std::string> signalled_;   // saga -> the step that it was sent to
};

// What holds for every saga; what does not becomes a violation of the stage.
void check_end(Stage& stage);

}  // namespace skald::sim::kit
