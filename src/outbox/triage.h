// What to do with the live entries of a pass, decided without touching anything:
// the rules of order per key are all here.
//
// An entry may go only where every earlier live entry of its key has gone in the
// same pass. Local entries of one key may follow each other inside of one
// transaction; on a bus one entry per key is under way.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "outbox/routing.h"
#include "skald/outbox.h"
#include "store/tables/blame.h"

namespace skald::outbox {

// Where one more death of its owner would count against it (store/tables/blame.h).
inline bool is_alone(const Entry& entry) { return entry.crashes >= tables::blame::kDeathsAlone; }

using Blames = std::map<std::string, tables::blame::Blame, std::less<>>;

// What a relay has begun.
struct InHand {
  std::int64_t fence = 0;
  bool suspect = false;
};

struct Triage {
  std::vector<Entry> local;  // for consumers, in order, in this transaction
  std::vector<Entry> claimed;  // for consumers, in order, but to be claimed first: all, or a group of suspects
  std::vector<Entry> careful;  // the same, and to be run one by one
  std::vector<Entry> send;  // for a bus
  std::optional<Entry> alone;  // to be claimed, marked, and handled or sent with no other suspect beside it
  std::vector<Entry> condemned;  // to be parked
  std::vector<Entry> orphans;  // a dead owner had them in hand
  std::vector<Entry> forged;  // content does not match the hash
  std::optional<Time> next_due;  // the earliest retry that was too early
  std::set<int> no_room;  // partitions with something that may go once fewer are in hand
  std::set<int> no_bus;  // and with something that may go once its bus is ready
  std::set<int> behind;  // and with something that waits for an earlier one of its key
};

struct TriageInput {
  const std::vector<Entry>& entries;  // by partition, in order
  const std::vector<std::string>& blocked_keys;  // behind a dead letter
  const std::unordered_map<std::string, InHand>& in_hand;  // what this relay has under way
  const std::set<int>& careful;  // partitions whose owner died
  const Routing& routing;
  std::string_view hash_key;
  Time now;
  std::size_t send_max;  // sends that may still begin
  const Blames& blames;  // of those that have been marked
  bool alone_in_hand = false;
  bool suspects_in_hand = false;  // that may still kill
  std::uint64_t chance = 0;  // decides which of several goes alone
};

// Keys that an earlier entry holds against all that come after it.
using HeldKeys = std::unordered_set<std::string>;

// `held_keys` lives for one pass, which may have several pages.
Triage triage(const TriageInput& input, HeldKeys& held_keys);

}  // namespace skald::outbox
