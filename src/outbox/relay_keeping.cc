// Relay: buses that are down, and buses that may have lost what they acknowledged.
#include <algorithm>
#include <utility>

#include "env/seam.h"
#include "outbox/integrity.h"
#include "outbox/relay.h"
#include "outbox/sending.h"

namespace skald::outbox {
namespace {

using seam::Rule;

// Well above the time between two syncs of a server that acknowledges before it syncs
// (NATS: 60 s), and no longer than a stream knows ids again.
constexpr Duration kWindow = std::chrono::minutes(10);
constexpr std::size_t kGivenAtOnce = 500;
// Where the last delivery is looked for: most often the first of these is enough. What is
// older stays where it is: receivers may have forgotten its id.
constexpr Duration kLookBack[] = {10min, 2h, kGivenAgainMax - kWindow};

// What was acknowledged before the last one that is there was even emitted came to the far end
// before it, and so is there, too. (What came later may have been acknowledged in any order.)
std::map<int, Time> since_last_kept(Transaction& tx, const Bus& bus) {
  std::vector<std::string> ids;
  for (const auto& [partition, id] : bus.last_kept()) ids.push_back(id);
  std::map<int, Time> out;
  for (const Entry& entry : tables::outbox::find_all(tx, ids)) out[entry.partition] = entry.created_at;
  return out;
}

}  // namespace

void Relay::find_outlets() {
  outlets_.emplace();
  for (Bus* bus : routing_.buses()) outlets_->push_back({.bus = bus});
  for (Outlet& outlet : *outlets_) {
    sends_unclaimed_ |= outlet.bus->keeps_order() && !outlet.bus->delivers_here();
    outlet.bus->on_loss([this, &outlet] {
      outlet.left.clear();
      outlet.unread = seam::holds(Rule::lost_tail_given_again) ? owned() : 0;
    });
  }
}

// What waited for a bus is looked at again when it is ready.
void Relay::follow_buses() {
  bool came = false;
  for (Outlet& outlet : *outlets_) {
    const bool ready = outlet.bus->is_ready();
    came |= ready && !outlet.was_ready;
    outlet.was_ready = ready;
  }
  if (!came) return;
  for (auto& [partition, lane] : lanes_)
    if (std::exchange(lane.wants_bus, false)) lane.want_pass();
}

// Who owned these partitions may have sent their last events to a server that has lost
// them since, and nobody but the new owner can know.
void Relay::hold_for(std::uint64_t taken) {
  if (taken == 0 || !seam::holds(Rule::taken_tail_given_again)) return;
  for (Outlet& outlet : *outlets_) {
    outlet.bus->hold();
    if (outlet.bus->is_held()) outlet.unread |= taken;  // else it says so itself, once it can
  }
}

// A part to one bus, where one wants it; false where none does.
bool Relay::give_again() {
  for (Outlet& outlet : *outlets_) {
    if (!outlet.bus->is_held() || outlet.bus->republishing() > 0) continue;
    if (outlet.unread != 0) look_up_delivered(outlet);
    else if (!outlet.left.empty()) give_next(outlet);
    else {
      outlet.bus->resume();
      outlet.bus->poll(Duration::zero());
      if (outlet.bus->is_held()) continue;
    }
    return true;
  }
  return false;
}

// The last minutes are counted back from the last delivery: what a server had not synced
// went down with it, however long ago that was. What is found a second time, because
// partitions came while others were given, is given a second time: the far end knows it
// again, as it does what it has not lost.
void Relay::look_up_delivered(Outlet& outlet) {
  const std::uint64_t partitions = outlet.unread & owned();
  const auto goes_there = [&](const std::string& type, bool landed) {
    const Route* route = routing_.plan(type, landed).route;
    return route != nullptr && route->bus == outlet.bus;
  };
  std::map<int, Time> kept_since;
  const auto found = db_.read_result([&](Transaction& tx) {
    kept_since = since_last_kept(tx, *outlet.bus);
    std::optional<Time> last;
    for (const Duration back : kLookBack) {
      for (const auto& one : tables::outbox::last_deliveries(tx, tx.now() - back))
        if ((partitions >> one.partition & 1) != 0 && goes_there(one.type, one.landed))
          last = std::max(last.value_or(one.at), one.at);
      if (last) return tables::outbox::delivered_since(tx, partitions, *last - kWindow);
    }
    return std::vector<tables::outbox::Delivered>();
  });
  for (const auto& one : found) {
    const auto kept = kept_since.find(one.partition);
    const bool is_there = kept != kept_since.end() && one.at < kept->second;
    if (!is_there && goes_there(one.type, one.landed)) outlet.left.push_back(one.id);
  }
  outlet.unread = 0;
}

void Relay::give_next(Outlet& outlet) {
  const auto end = outlet.left.begin() + static_cast<std::ptrdiff_t>(std::min(outlet.left.size(), kGivenAtOnce));
  const std::vector<std::string> ids(outlet.left.begin(), end);
  const auto entries = db_.read_result([&](Transaction& tx) { return tables::outbox::find_all(tx, ids); });
  std::vector<Message> messages;
  for (const Entry& entry : entries) {
    if (verify(entry, options_.hash_key)) {
      messages.push_back(outgoing(env_, handling_, entry));
      continue;
    }
    env_.observer.count("outbox_integrity_failures_total");
    env_.observer.log(Observer::Level::error,
                      "an event that was delivered does not match its hash any more and is not "
                      "given to its bus again",
                      "\"event\":" + to_json(entry.id));
  }
  outlet.bus->republish(messages);
  outlet.left.erase(outlet.left.begin(), end);
  env_.observer.count("outbox_given_again_total", static_cast<std::int64_t>(messages.size()));
}

std::uint64_t Relay::owned() const {
  std::uint64_t out = 0;
  for (const auto& [partition, lane] : lanes_) out |= std::uint64_t{1} << partition;
  return out;
}

}  // namespace skald::outbox
