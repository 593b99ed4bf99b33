// Who gets which events. Filled before the engine starts, read-only afterwards.
#pragma once

#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "skald/outbox.h"
#include "store/user_code.h"

namespace skald::outbox {

class Routing {
 public:
  // What is done with the events of one type: first the local consumers, each in
  // a transaction with its inbox row, then the bus.
  struct Plan {
    std::vector<const Consumer*> consumers;
    const Route* route = nullptr;
    std::vector<const Settled*> settled;
    bool is_local() const { return !consumers.empty() || route != nullptr || !settled.empty(); }
  };

  void add(Consumer consumer);      // throws Invalid where the name is taken
  void add(Route route);            // throws Invalid where the type has one already
  void on_settled(std::string type, Settled settled);

  // Thread safe; the references live as long as the routing. What came from another
  // service is for consumers only: nobody sends it on.
  const Plan& plan(const std::string& type, bool landed = false) const;
  const Plan& plan(const Entry& entry) const { return plan(entry.event.type, !entry.source.empty()); }

  // All buses, each once.
  std::vector<Bus*> buses() const;
  void settle(Transaction& tx, const Entry& entry, EntryStatus status, UserCode& code) const;
  void settle(Transaction& tx, const Entry& entry, EntryStatus status) const;

 private:
  std::vector<std::unique_ptr<Consumer>> consumers_;
  std::vector<std::unique_ptr<Route>> routes_;
  std::vector<std::unique_ptr<std::pair<std::string, Settled>>> settled_;
  mutable std::mutex mutex_;        // guards plans_
  mutable std::unordered_map<std::string, std::unique_ptr<Plan>> plans_[2];  // of our own events, of landed ones
};

}  // namespace skald::outbox
