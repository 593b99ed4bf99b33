// skald_subscriber, skald_subscription, skald_lane: the services that want our events, and how far the letters to each
// have come. `number` of a lane is the last letter that the subscriber is known to have.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/entry.h"
#include "skald/subscriber.h"

namespace skald::tables::subscriber {

// The id of this database, drawn once.
std::string database_id(Transaction& tx, Random& random);

struct Row {
  std::string name;
  int bit = 0;
  std::int64_t mask() const { return std::int64_t{1} << bit; }
  bool operator==(const Row&) const = default;
};
std::vector<Row> all(Transaction& tx);  // by name
std::optional<Row> find(Transaction& tx, std::string_view name);
std::vector<std::string> types_of(Transaction& tx, std::string_view name);
// The condition of what is owed to it, and the index of that (partition, seq). The index is used only by queries that have
// the very text of the condition.
std::string owed_to(const Row& row);
std::string index_of(const Row& row);

// The subscriber with these types, no others. From the commit on events are owed to it; nobody else commits events
// meanwhile. Invalid (BAD_SUBSCRIBER, TOO_MANY_SUBSCRIBERS).
void put(Transaction& tx, const Subscriber& subscriber);
// What it is still owed is owed no longer: how many events. Its lanes keep their numbers. NotFound.
std::int64_t remove(Transaction& tx, std::string_view name);

// Of its lanes, by partition.
std::map<int, LanePlace> places(Transaction& tx, std::string_view name);

// What the next letter of a lane is made of.
struct Ready {
  int partition = 0;
  LanePlace place;  // of the last one
  std::vector<Entry> entries;  // in order, as many as a letter takes
};
// The number and the entries of each lane are of one moment.
std::vector<Ready> ready(Transaction& tx, const Row& subscriber, std::span<const int> partitions);
// Whether the lane is at that place and nothing is owed in it: no letter of it can be under way.
bool is_at_rest(Transaction& tx, const Row& subscriber, int partition, const LanePlace& place);

inline constexpr int kEventsMax = 256;
inline constexpr int kBytesMax = 512 * 1024;

// What a receipt says: the letter of that number landed, with these events.
struct Landed {
  int partition = 0;
  std::int64_t number = 0;
  std::string former;
  std::vector<std::string> ids;
};
// Clears what was owed, and counts the lane's number up: both, or nothing where another has done so.
void settle(Transaction& tx, const Row& subscriber, std::span<const Landed> landed);

// A subscriber that is older or newer than its lane says. Entries that are owed to it or were confirmed by it,
// `after` that id, in the order of their ids.
struct Kept {
  std::string id;
  bool owed = false;
  Time created_at{};
};
std::vector<Kept> kept(Transaction& tx, const Row& subscriber, int partition, std::string_view after, int limit);
// Settles what it has, owes what it has not.
void owe(Transaction& tx, const Row& subscriber, std::span<const std::string> ids);
void found(Transaction& tx, const Row& subscriber, std::span<const std::string> ids);
// False where the lane is at another place by now.
bool move(Transaction& tx, const Row& subscriber, int partition, const LanePlace& from, const LanePlace& to);

// Tampered with: the relay brings it to the dead letters.
void give_to_relay(Transaction& tx, std::string_view id);

}  // namespace skald::tables::subscriber
