#include "sim/post_network.h"

#include <algorithm>

namespace skald::sim {

std::optional<Instant> PostNetwork::next() const {
  const auto first = std::ranges::min_element(on_the_way_, {}, &OnTheWay::at);
  return first == on_the_way_.end() ? std::nullopt : std::optional(first->at);
}

// Others may arrive while one is taken in: it is off the list by then.
void PostNetwork::deliver_due() {
  for (;;) {
    const auto first = std::ranges::min_element(on_the_way_, {}, &OnTheWay::at);
    if (first == on_the_way_.end() || first->at > stage_.now()) return;
    const Arrive arrive = std::move(first->arrive);
    on_the_way_.erase(first);
    arrive();
  }
}

Duration PostNetwork::long_way() {
  const int choice = stage_.dice.between(0, 9);
  if (choice == 0) return stage_.dice.between(1h, 6h);
  return choice <= 3 ? stage_.dice.between(1s, 150s) : stage_.dice.between(1ms, 4s);
}

bool PostNetwork::is_cut_off(std::string_view service) const {
  const auto cut = cut_until_.find(service);
  return cut != cut_until_.end() && stage_.now() < cut->second;
}

void PostNetwork::heal() {
  cut_until_.clear();
  for (OnTheWay& one : on_the_way_) one.at = std::min(one.at, stage_.now() + stage_.dice.between(0s, 60s));
}

}  // namespace skald::sim
