// What is on its way between simulated services, and which of them are cut off. It arrives whatever becomes of its sender.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/stage.h"

namespace skald::sim {

class PostNetwork {
 public:
  using Arrive = std::function<void()>;
  explicit PostNetwork(Stage& stage) : stage_(stage) {}

  void carry(Instant at, Arrive arrive) { on_the_way_.push_back({at, std::move(arrive)}); }
  std::optional<Instant> next() const;
  void deliver_due();
  bool empty() const { return on_the_way_.empty(); }

  // How long a way takes, and how long it takes what comes late: up to hours.
  Duration way() { return stage_.dice.between(500us, 60ms); }
  Duration long_way();

  // Nothing gets to that service or from it for a while.
  void cut_off(std::string_view service, Duration time) { cut_until_[std::string(service)] = stage_.now() + time; }
  bool is_cut_off(std::string_view service) const;
  // Nobody is cut off any more, and what would take hours arrives within a minute.
  void heal();

 private:
  struct OnTheWay {
    Instant at;
    Arrive arrive;
  };

  Stage& stage_;
  std::vector<OnTheWay> on_the_way_;
  std::map<std::string, Instant, std::less<>> cut_until_;
};

}  // namespace skald::sim
