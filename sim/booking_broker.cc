#include "sim/booking_broker.h"

#include <algorithm>
#include <set>

namespace skald::sim {
namespace {

constexpr Duration kSyncEvery = std::chrono::seconds(60);

}  // namespace

BookingBroker::BookingBroker(Stage& stage, Take take)
    : stage_(stage), take_(std::move(take)), sync_at_(stage.now() + kSyncEvery) {}

Outcome BookingBroker::keep(std::string_view to, const Message& message, int run) {
  if (!is_up() || run != run_) return Outcome::failed("the server is down");
  if (!known_.emplace(message.event.id, false).second) return Outcome::ok();
  last_[message.source][partition_of(message.event.key)] = message.event.id;
  const bool slow = stage_.dice.chance(stage_.plan.rates.late);
  kept_.push_back({std::string(to), message,
                   stage_.now() + (slow ? stage_.dice.between(1s, 90s) : stage_.dice.between(500us, 60ms))});
  return Outcome::ok();
}

std::map<int, std::string> BookingBroker::last_of(std::string_view source) const {
  const auto found = last_.find(source);
  return found == last_.end() ? std::map<int, std::string>() : found->second;
}

// The first that may go: nothing of its key is in front of it.
std::optional<std::size_t> BookingBroker::due() const {
  std::set<std::pair<std::string_view, std::string_view>> waiting;
  for (std::size_t i = 0; i < kept_.size(); ++i)
    if (waiting.emplace(kept_[i].to, kept_[i].message.event.key).second && kept_[i].at <= stage_.now()) return i;
  return std::nullopt;
}

std::optional<Instant> BookingBroker::next() const {
  if (!is_up()) return up_at_;
  Instant out = sync_at_;
  std::set<std::pair<std::string_view, std::string_view>> waiting;
  for (const Kept& one : kept_)
    if (waiting.emplace(one.to, one.message.event.key).second) out = std::min(out, one.at);
  return out;
}

// Others may act while one is taken in: the server may be down by then, and its run another.
void BookingBroker::act_due() {
  if (!is_up()) return;
  if (sync_at_ <= stage_.now()) {
    for (auto& [id, synced] : known_) synced = true;
    last_synced_ = last_;
    sync_at_ = stage_.now() + kSyncEvery;
  }
  while (const auto index = due()) {
    kept_[*index].at = stage_.now() + stage_.dice.between(100ms, 2s);  // not taken, it is tried again
    const Kept one = kept_[*index];
    stage_.trace.note(stage_.now(), {"handed over to", one.to, one.message.event.id, one.message.event.type});
    if (take_(one.to, one.message).verdict != Verdict::delivered) continue;
    std::erase_if(kept_, [&](const Kept& other) { return other.message.event.id == one.message.event.id; });
  }
}

void BookingBroker::go_down(Duration time) {
  if (!is_up()) return;
  ++run_;
  up_at_ = stage_.now() + time;
  sync_at_ = up_at_ + kSyncEvery;
  const std::size_t before = kept_.size();
  std::erase_if(kept_, [&](const Kept& one) { return !known_.at(one.message.event.id); });
  std::erase_if(known_, [](const auto& id) { return !id.second; });
  last_ = last_synced_;
  if (kept_.size() < before) stage_.markers.hit(Marker::bus_rolled_back);
  stage_.trace.note(stage_.now(), {"the server loses", std::to_string(before - kept_.size()), "events"});
}

void BookingBroker::heal() { up_at_ = std::min(up_at_, stage_.now()); }

}  // namespace skald::sim
