// skald_dead_letter: events that could not be delivered, whole, until somebody
// replays or discards them. Also skald_blocked_key: keys that wait behind one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/database.h"
#include "skald/entry.h"

namespace skald::tables::dead_letter {

enum class State { DEAD, REPLAYED, DISCARDED };
BOOST_DESCRIBE_ENUM(State, DEAD, REPLAYED, DISCARDED)

struct DeadLetter {
  std::string id, reason, type, key, subject, payload, traceparent, content_hash;
  int attempts = 0;
  std::string last_error;
  Time created_at{}, dead_at{};
  State state = State::DEAD;
  std::string note;
  Time resolved_at{};
};
BOOST_DESCRIBE_STRUCT(DeadLetter, (),
                      (id, reason, type, key, subject, payload, traceparent, content_hash, attempts, last_error,
                       created_at, dead_at, state, note, resolved_at))

DeadLetter from_entry(const Entry& entry, std::string_view reason, std::string_view error, Time now);

// DEAD, also where a replayed event has died again. False where it already was.
bool put(Transaction& tx, const DeadLetter& letter);
// Only where there is none of this id, also none that another session is putting.
bool put_first(Transaction& tx, const DeadLetter& letter);

std::optional<DeadLetter> find(Transaction& tx, std::string_view id);
std::optional<DeadLetter> find_locked(Transaction& tx, std::string_view id);

struct Filter {
  std::optional<State> state;
  std::optional<std::string> reason, type, key;
  std::optional<std::string> after;
  std::size_t limit = 50;
};
std::vector<DeadLetter> list(Transaction& tx, const Filter& filter);  // newest first

// DEAD -> state; false where it was not DEAD.
bool resolve(Transaction& tx, std::string_view id, State state, std::string_view note);

void block_key(Transaction& tx, std::string_view key, std::string_view event_id);
void unblock_key(Transaction& tx, std::string_view event_id);

}  // namespace skald::tables::dead_letter

template <>
struct skald::Table<skald::tables::dead_letter::DeadLetter> {
  static constexpr std::string_view name = "skald_dead_letter", key = "id";
};
