#include "outbox/routing.h"

#include <algorithm>

namespace skald {

bool matches_type(std::string_view pattern, std::string_view type) {
  if (pattern.ends_with(".*")) return type.starts_with(pattern.substr(0, pattern.size() - 1));
  return pattern == type;
}

}  // namespace skald

namespace skald::outbox {

void Routing::add(Consumer consumer) {
  for (const auto& other : consumers_) {
    if (other->name == consumer.name)
      throw Invalid("DUPLICATE_CONSUMER", "there is a consumer named " + consumer.name +
                                              " already: its name is its dedupe record, give it another");
  }
  consumers_.push_back(std::make_unique<Consumer>(std::move(consumer)));
}

void Routing::add(Route route) {
  for (const auto& other : routes_) {
    if (other->type == route.type)
      throw Invalid("DUPLICATE_ROUTE", "events of type " + route.type + " have a bus already");
  }
  routes_.push_back(std::make_unique<Route>(std::move(route)));
}

void Routing::on_settled(std::string type, Settled settled) {
  settled_.push_back(std::make_unique<std::pair<std::string, Settled>>(std::move(type), std::move(settled)));
}

const Routing::Plan& Routing::plan(const std::string& type, bool landed) const {
  std::lock_guard lock(mutex_);
  auto& slot = plans_[landed ? 1 : 0][type];
  if (!slot) {
    slot = std::make_unique<Plan>();
    for (const auto& consumer : consumers_)
      if (matches_type(consumer->type, type)) slot->consumers.push_back(consumer.get());
    for (const auto& route : routes_)
      if (!landed && slot->route == nullptr && matches_type(route->type, type)) slot->route = route.get();
    for (const auto& settled : settled_)
      if (matches_type(settled->first, type)) slot->settled.push_back(&settled->second);
  }
  return *slot;
}

std::vector<Bus*> Routing::buses() const {
  std::vector<Bus*> out;
  for (const auto& route : routes_)
    if (route->bus != nullptr && std::ranges::find(out, route->bus) == out.end()) out.push_back(route->bus);
  return out;
}

void Routing::settle(Transaction& tx, const Entry& entry, EntryStatus status, UserCode& code) const {
  for (const Settled* settled : plan(entry).settled) code.call(tx, [&] { (*settled)(tx, entry, status); });
}

void Routing::settle(Transaction& tx, const Entry& entry, EntryStatus status) const {
  UserCode code;
  settle(tx, entry, status, code);
}

}  // namespace skald::outbox
