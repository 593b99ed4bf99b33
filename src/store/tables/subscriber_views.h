// What operators see of subscribers and their lanes, and of what an entry's proof says. What is owed is counted up to a
// bound, by the index of what is owed to that subscriber: looking costs the same however much is owed, and however much
// is kept. Every function runs inside of the caller's transaction.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/entry.h"
#include "skald/subscriber.h"

namespace skald::tables::subscriber {

inline constexpr int kCountedMax = 10'000;
inline constexpr int kCountedInLaneMax = 1'000;

std::vector<SubscriberView> views(Transaction& tx);  // by name
std::optional<SubscriberDetail> detail(Transaction& tx, std::string_view name);

// Of an entry to a subscriber: it has it, or is owed it, or both: it had it, and was restored from an older copy.
struct Delivery {
  std::string subscriber;
  bool is_owed = false;
  std::optional<Time> since;  // it was confirmed then
  std::int64_t letter = 0;  // by this number; 0: it was found there when what both have was compared
};
// By name.
std::vector<Delivery> deliveries(Transaction& tx, const Entry& entry);
// "notify has it", or "owed to notify".
std::string told(const Delivery& delivery);
// "since 2026-11-15T20:00:00Z, letter 17 of partition 3"; empty where it was never confirmed.
std::string proof_of(const Delivery& delivery, int partition);

}  // namespace skald::tables::subscriber
