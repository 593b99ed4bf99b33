// skald_lock: who holds which semantic lock, and who waits for it, in order.
//
// On PostgreSQL each (resource, key) has an advisory lock besides, held to the end
// of a transaction by everyone who looks at or changes its rows: rows that are not
// committed yet can be seen by nobody else.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/lock_view.h"

namespace skald::tables::semantic_lock {

struct Place {
  std::string resource, key;
  bool operator==(const Place&) const = default;
};
struct Request {
  Place place;
  LockMode mode = LockMode::exclusive;
};
struct Row {
  Place place;
  std::string root;      // the saga that owns it; its children share it
  std::string waiter;    // the saga that asked
  LockMode mode = LockMode::exclusive;
  bool granted = false;
  std::int64_t seq = 0;  // in the queue
  Time since{};
  std::string step;
};

// The rows of these places, without waiting for other transactions; nullopt where
// one is at any of them now. Those who share do not disturb each other.
std::optional<std::vector<Row>> probe(Transaction& tx, std::span<const Request> requests);
// The same, alone: waits until others at these places have committed.
std::vector<Row> enter(Transaction& tx, std::span<const Place> places);

// Under probe() or enter() of its place. A waiting row goes to the end of the queue.
void insert(Transaction& tx, const Row& row);
// Of one that `root` shares; under probe() for this mode, or enter().
void make_exclusive(Transaction& tx, const Place& place, std::string_view root);
// Under enter().
void grant(Transaction& tx, const Row& row);
void remove(Transaction& tx, const Place& place, std::string_view root);

std::vector<Place> held_by(Transaction& tx, std::string_view root);
// Who holds what `root` waits for, and waits for something himself.
std::vector<std::string> waiting_holders(Transaction& tx, std::string_view root);
// The saga of `root` that stands in a queue.
std::optional<std::string> waiter_of(Transaction& tx, std::string_view root);
// Held and waited for, as the simulators look at them.
std::vector<Row> all(Transaction& tx, std::size_t limit);
// Those that are held, with who waits, for people; sorted by resource, key and root.
std::vector<LockView> list(Transaction& tx, const LockFilter& filter);

}  // namespace skald::tables::semantic_lock
