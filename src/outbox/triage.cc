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

bool begins_suspects(const Triage& out) {
  const auto suspected = [](const Entry& entry) { return entry.crashes > 0; };
  return std::ranges::any_of(out.claimed, suspected) || std::ranges::any_of(out.careful, suspected) ||
         std::ranges::any_of(out.send, suspected);
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
  if (plan.route != nullptr && !plan.route->bus->is_ready()) return Fate::no_bus;
  if (is_alone(entry)) return Fate::alone;
  if (in.alone_in_hand && entry.crashes > 0) return Fate::no_room;
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

}  // namespace

Triage triage(const TriageInput& in, HeldKeys& held_keys) {
  Triage out;
  std::vector<Entry> alone;
  held_keys.insert(in.blocked_keys.begin(), in.blocked_keys.end());
  for (const Entry& entry : in.entries) {
    const std::string& key = entry.event.key;
    if (held_keys.contains(key)) {
      out.behind.insert(entry.partition);
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
        if (!seam::holds(Rule::one_in_flight_per_key)) continue;
        break;
      case Fate::alone: alone.push_back(entry); break;
      case Fate::condemned: out.condemned.push_back(entry); break;
      case Fate::orphan: out.orphans.push_back(entry); break;
      case Fate::forged: out.forged.push_back(entry); break;
      case Fate::too_early:
        if (!out.next_due || entry.next_retry_at < *out.next_due) out.next_due = entry.next_retry_at;
        if (!seam::holds(Rule::failing_head_blocks_key)) continue;
        break;
      case Fate::under_way:
        if (!seam::holds(Rule::one_in_flight_per_key)) continue;
        break;
      case Fate::no_room: out.no_room.insert(entry.partition); break;
      case Fate::no_bus: out.no_bus.insert(entry.partition); break;
    }
    held_keys.insert(key);
  }
  // One at a time, when no other suspect is at work, and after each death perhaps another one.
  for (const Entry& entry : alone) out.no_room.insert(entry.partition);
  if (alone.empty() || in.alone_in_hand || in.suspects_in_hand || begins_suspects(out)) return out;
  out.alone = alone[in.chance % alone.size()];
  return out;
}

}  // namespace skald::outbox
