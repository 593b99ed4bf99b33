#include "outbox/triage.h"

#include <algorithm>

#include "env/seam.h"
#include "outbox/integrity.h"

namespace skald::outbox {
namespace {

using seam::Rule;

enum class Fate {
  local,
  claimed,
  grouped,
  careful,
  send,
  alone,
  condemned,
  orphan,
  forged,
  under_way,
  too_early,
  no_room,
  no_bus
};

// A death would count against the one that is alone.
bool may_kill_beside(const Entry& entry, const Routing& routing) {
  if (goes_unclaimed(entry, routing)) return false;
  return entry.crashes > 0 || goes_in_order(entry, routing);
}

bool begins_suspects(const Triage& out) {
  const auto suspected = [](const Entry& entry) { return entry.crashes > 0; };
  return std::ranges::any_of(out.claimed, suspected) || std::ranges::any_of(out.careful, suspected) ||
         std::ranges::any_of(out.send, suspected);
}

// What it is not to have beside it comes later.
void clear_the_way(Triage& out, const Routing& routing, HeldKeys& held_keys) {
  std::erase_if(out.send, [&](const Entry& entry) {
    if (!may_kill_beside(entry, routing)) return false;
    out.no_room.insert(entry.partition);
    held_keys[entry.event.key] = nullptr;
    return true;
  });
}

Fate fate_of(const Entry& entry, const TriageInput& in, std::size_t sends) {
  const bool under_way = in.in_hand.contains(entry.id);
  if (under_way) return Fate::under_way;
  if (entry.status == EntryStatus::PROCESSING && !seam::holds(Rule::orphans_recovered)) return Fate::under_way;
  if (entry.status == EntryStatus::FAILED && entry.next_retry_at > in.now) return Fate::too_early;
  if (!verify(entry, in.hash_key)) return Fate::forged;
  if (entry.status == EntryStatus::PROCESSING) return Fate::orphan;
  const auto blame = in.blames.find(entry.id);
  if (blame != in.blames.end() && blame->second.is_condemned()) return Fate::condemned;
  const auto& plan = in.routing.plan(entry);
  // Claimed now, it would spend its attempts on a bus that is known to be down.
  if (plan.route != nullptr && !plan.route->bus->is_ready() && seam::holds(Rule::bus_waited_for)) return Fate::no_bus;
  if (is_alone(entry) && !goes_unclaimed(entry, in.routing)) return Fate::alone;
  if (in.alone_in_hand && may_kill_beside(entry, in.routing)) return Fate::no_room;
  if (!plan.consumers.empty() || plan.route == nullptr) {
    if (plan.route != nullptr) return Fate::careful;  // through its consumers one by one first
    if (entry.crashes > 0) return Fate::grouped;
    return in.careful.contains(entry.partition) ? Fate::claimed : Fate::local;
  }
  return sends < in.send_max ? Fate::send : Fate::no_room;
}

// Either what nobody suspects, or a small group of suspects.
bool has_place(const Triage& out, const Entry& entry) {
  if (out.claimed.empty()) return true;
  const bool group = out.claimed.front().crashes > 0;
  return group == (entry.crashes > 0) && (!group || out.claimed.size() < tables::blame::kGroup);
}

// Null where consumers have it first.
const Bus* bus_of(const Entry& entry, const Routing& routing) {
  const auto& plan = routing.plan(entry);
  return plan.consumers.empty() && plan.route != nullptr ? plan.route->bus : nullptr;
}

bool may_follow(const Entry& entry, const Bus* held_for, const Routing& routing) {
  return held_for != nullptr && (held_for == bus_of(entry, routing) || !seam::holds(Rule::followers_on_same_bus));
}

// One that goes to its bus, or is on its way there.
void hold_key(const Entry& entry, int failed_attempts, const Routing& routing, HeldKeys& held_keys) {
  if (goes_unclaimed(entry, routing) || !seam::holds(Rule::one_in_flight_per_key)) return;
  const bool may_be_followed = goes_in_order(entry, routing) && failed_attempts <= 0 && entry.crashes == 0;
  held_keys[entry.event.key] = may_be_followed ? bus_of(entry, routing) : nullptr;
}

}  // namespace

bool goes_in_order(const Entry& entry, const Routing& routing) {
  const auto& plan = routing.plan(entry);
  return plan.consumers.empty() && plan.route != nullptr && plan.route->bus->keeps_order();
}

bool goes_unclaimed(const Entry& entry, const Routing& routing) {
  return goes_in_order(entry, routing) && !routing.plan(entry).route->bus->delivers_here();
}

Triage triage(const TriageInput& in, HeldKeys& held_keys) {
  Triage out;
  std::vector<Entry> alone;
  for (const std::string& key : in.blocked_keys) held_keys[key] = nullptr;
  for (const Entry& entry : in.entries) {
    const std::string& key = entry.event.key;
    const auto held = held_keys.find(key);
    if (held != held_keys.end() && !may_follow(entry, held->second, in.routing)) {
      out.behind.insert(entry.partition);
      held->second = nullptr;  // by this one now
      continue;
    }
    switch (fate_of(entry, in, out.send.size())) {
      case Fate::local: out.local.push_back(entry); continue;  // the key goes on in this transaction
      case Fate::claimed:
        if (has_place(out, entry)) {
          out.claimed.push_back(entry);
          continue;  // so does it here: all of its partition are claimed
        }
        out.no_room.insert(entry.partition);
        break;
      case Fate::grouped:
        if (has_place(out, entry)) out.claimed.push_back(entry);
        else out.no_room.insert(entry.partition);
        break;  // a later one of its key may be no suspect, and would be run before it
      case Fate::careful: out.careful.push_back(entry); break;
      case Fate::send:
        out.send.push_back(entry);
        hold_key(entry, entry.attempts, in.routing, held_keys);
        continue;
      case Fate::alone: alone.push_back(entry); break;
      case Fate::condemned: out.condemned.push_back(entry); break;
      case Fate::orphan: out.orphans.push_back(entry); break;
      case Fate::forged: out.forged.push_back(entry); break;
      case Fate::too_early:
        if (!out.next_due || entry.next_retry_at < *out.next_due) out.next_due = entry.next_retry_at;
        if (!seam::holds(Rule::failing_head_blocks_key)) continue;
        break;
      case Fate::under_way: hold_key(entry, entry.attempts - 1, in.routing, held_keys); continue;
      case Fate::no_room: out.no_room.insert(entry.partition); break;
      case Fate::no_bus: out.no_bus.insert(entry.partition); break;
    }
    held_keys[key] = nullptr;
  }
  // One at a time, when no other suspect is at work, and after each death perhaps another one.
  for (const Entry& entry : alone) out.no_room.insert(entry.partition);
  if (alone.empty() || in.alone_in_hand || in.suspects_in_hand || begins_suspects(out)) return out;
  out.alone = alone[in.chance % alone.size()];
  clear_the_way(out, in.routing, held_keys);
  return out;
}

}  // namespace skald::outbox
