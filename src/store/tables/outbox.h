// skald_outbox: the events of committed transactions and what became of them.
// Every function runs inside of the caller's transaction.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "skald/database.h"
#include "skald/entry.h"
#include "store/tables/partition.h"

namespace skald::tables::outbox {

struct NewEntry {
  const Event* event;
  std::string content_hash;
  int retries_max;
  bool is_local = true;  // somebody here is to have it, or a bus; it may be owed to subscribers besides
};

// Inserts at the end of a transaction. On PostgreSQL the keys' advisory locks are
// taken first, in one order, and the sequence numbers drawn under them, so that
// within a key they follow the order of commits. Travels with the commit.
// `to_nobody`: the caller knows that there is no subscriber, which is possible on SQLite alone: it has one process.
enum class Owed { to_subscribers, to_nobody };
void insert(Transaction& tx, std::span<const NewEntry> entries, Owed owed = Owed::to_subscribers);

// An event that another service has sent.
struct Landing {
  const Event* event;
  std::string_view source;
  Time time{};  // when it was emitted there
  bool out_of_order = false;
  std::string content_hash;
  int retries_max;
};

// Where to go on reading a partition that one owns under `fence`.
struct Position {
  int partition;
  std::int64_t fence;
  std::int64_t after;  // seq
};

// In the order given, as insert() does; those that are known are left out.
void land(Transaction& tx, std::span<const Landing> landings);

// As land(), but COMPLETED, for a transaction that handles them; the ids of those. Left out are also
// those whose partition is not owned (what is gets locked, shared), and those of keys that have
// something live or are blocked. In one round trip.
std::unordered_set<std::string> land_completed(Transaction& tx, std::string_view worker,
                                               std::span<const partition::Ownership> owned,
                                               std::span<const Landing> landings);

// A letter of another service; its lane is its sender and partition.
struct ArrivedLetter {
  std::string_view sender;
  int partition = 0;
  std::int64_t number = 0;
  std::string_view former;          // the chain (chain.h) that it continues
  std::vector<std::string> ids;     // of all that is in it
  std::vector<Landing> landings;    // what can be read of that
};
struct TakenLetters {
  std::vector<bool> taken;                  // of each: it was its turn, and all of it is landed
  std::unordered_set<std::string> handled;  // to be handled in this transaction: landed as COMPLETED
};
// Takes the letters whose turn it is, of different lanes. What land_completed() would take is `handled`; the rest is
// landed as land() does. In one round trip, or two where there is a rest.
TakenLetters take_letters(Transaction& tx, std::string_view worker, std::span<const partition::Ownership> owned,
                          std::span<const ArrivedLetter> letters);

// Checks the fences and locks them (shared), and reads what is live after each position, in order, at most `limit`
// each: one round trip. Partitions whose fence has moved on are missing from `owned`.
struct Pending {
  std::vector<int> owned;
  std::vector<Entry> entries;                // by partition, then seq
  std::vector<std::string> blocked_keys;     // by a dead letter in front
};
Pending pending(Transaction& tx, std::string_view worker, std::span<const Position> positions, std::size_t limit);

// A lone new event as a text, by its id as $1, and back; nothing where it is no such text.
extern const std::string_view kOffer;
std::optional<Entry> read_offer(std::string_view text);

// COMPLETED, with its inbox rows, without asking first: the transaction fails at its next round
// trip where the entry is not owned, not new, or not the first of its key (PostgreSQL). There is at
// least one consumer.
void complete_offered(Transaction& tx, std::string_view worker, const Position& position, std::string_view id,
                      std::span<const std::string> consumers);

// PROCESSING under `worker`; the attempt counts from here on.
void claim(Transaction& tx, std::span<const std::string> ids, std::string_view worker);

// What `worker` has claimed in these partitions of its own and not ended: as it was before the claim. It is no death.
void release_claimed(Transaction& tx, std::string_view worker, std::span<const std::int64_t> partitions);

struct Completion {
  std::string id;
  Duration took{};
};
// COMPLETED. `attempt_counted`: a claim has already counted the attempt.
void complete(Transaction& tx, std::span<const Completion> done, std::string_view worker, bool attempt_counted);

// FAILED until `next_retry_at`; sets attempts and crashes to what the entry says.
void reschedule(Transaction& tx, const Entry& entry, Time next_retry_at, std::string_view error);

// DEAD_LETTER. Only where it is still live: false where it is not.
bool bury(Transaction& tx, const Entry& entry, std::string_view error);

// PENDING again, with all its attempts before it. False where it is not dead.
bool revive(Transaction& tx, std::string_view id, bool out_of_order);

std::optional<Entry> find(Transaction& tx, std::string_view id);
// Those that there are, by seq.
std::vector<Entry> find_all(Transaction& tx, std::span<const std::string> ids);

struct Filter {
  std::optional<EntryStatus> status;
  std::optional<std::string> type, key;
  std::optional<std::string> after;          // id of the last entry of the page before
  std::size_t limit = 50;
};
std::vector<Entry> list(Transaction& tx, const Filter& filter);   // newest first

// The latest of this subject, which is not empty; latest first.
std::vector<Entry> about(Transaction& tx, std::string_view subject, std::size_t limit);

// Partitions with something due at `now`, and when the next retry is due.
struct Backlog {
  std::uint64_t due = 0;                     // a bit per partition
  std::optional<Time> next_due;
  std::int64_t live = 0;
  std::optional<Time> oldest;
};
Backlog backlog(Transaction& tx);

// Deletes at most `limit` entries that completed before `before`, with their
// attempts and inbox rows; how many.
std::int64_t forget_completed(Transaction& tx, Time before, int limit);

}  // namespace skald::tables::outbox
