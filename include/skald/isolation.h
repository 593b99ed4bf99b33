// Isolation between sagas, which commit step by step and so see each other's
// unfinished work. Semantic locks are declared with a saga's steps (saga.h); the
// other countermeasures are plain functions on a transaction.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skald/database.h"
#include "skald/lock_mode.h"

namespace skald {

// What a saga does where a semantic lock is not free.
struct WhenBusy {
  enum class Kind { wait, retry, reject } kind = Kind::wait;
  Duration limit = 2s;          // wait: in the queue, in order of arrival
  int tries = 3;                // retry: times `pause` x attempt and jitter between them
  Duration pause = 100ms;
};
constexpr WhenBusy wait_up_to(Duration limit) { return {.kind = WhenBusy::Kind::wait, .limit = limit}; }
constexpr WhenBusy try_again(int tries, Duration pause) {
  return {.kind = WhenBusy::Kind::retry, .tries = tries, .pause = pause};
}
inline constexpr WhenBusy reject{.kind = WhenBusy::Kind::reject};

// How an access is protected against other sagas, as the analyser knows it.
enum class Guard { none, commutative, reread, optimistic, row_lock, version_file, idempotency_key };
BOOST_DESCRIBE_ENUM(Guard, none, commutative, reread, optimistic, row_lock, version_file, idempotency_key)
struct DataAccess {
  enum Kind { read, write };
  std::string resource;
  Kind kind;
  Guard guard;
};

// The barrier between an action and its undo where their messages may overtake each
// other: both write one row in the effect's own transaction. Call it first in the
// handler of either; go on only where it says `first`.
//
// | what happens                             | action    | undo      |
// | it comes in order, for the first time    | first     | first     |
// | it comes again, also after its undo      | repeated  | repeated  |
// | the undo comes first, and for ever after | overtaken | overtaken |
// | both come at once                        | the second waits for the end of the first |
// | its transaction is rolled back           | as if it had never come |
enum class Passage {
  first,      // do it
  repeated,   // done before: answer as then
  overtaken   // action: its undo came first, do nothing; undo: there is nothing to undo
};
enum class Side { action, undo };
Passage pass_barrier(Transaction& tx, std::string_view saga_id, std::string_view step, Side side);
// Those first passed before then: what comes later than that is not told from a first one.
// How many, at most `most`.
std::int64_t forget_barriers(Transaction& tx, Time before, int most);

}  // namespace skald
