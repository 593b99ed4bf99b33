// The outbox as its users see it: who handles which events, and what is known of
// each one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "skald/bus.h"
#include "skald/database.h"
#include "skald/entry.h"

namespace skald {

// Handles events in a transaction that also records them as handled, so that a
// duplicate has no effect. Throwing Refused or Invalid sends the event to the
// dead letters at once; anything else is tried again later. Writes that need no
// answer should be tx.enqueue()d: many events share one commit. May be called by several
// threads at once, for events of different keys.
struct Consumer {
  std::string name;                  // stable: part of the dedupe record
  std::string type;                  // "donation.accepted", or "donation.*"
  std::function<void(Transaction&, const Message&)> handle;
};

// Carries events of a type out over a bus.
struct Route {
  std::string type;
  Bus* bus = nullptr;
  std::optional<int> retries_max = {};  // where it is not to be the outbox's own
};

// What happens to the later events of a key whose head went to the dead letters.
enum class OnDeadLetter { go_on, block };

// Told in the transaction that ends an entry (COMPLETED, DEAD_LETTER) or brings
// it back (PENDING, by replay), so that a service's own rows keep the outcome.
using Settled = std::function<void(Transaction&, const Entry&, EntryStatus)>;

struct OutboxOptions {
  std::string source = "/skald";     // CloudEvents source
  int retries_max = 3;               // so four attempts
  std::optional<int> landed_retries_max = {};  // of events of other services, where it is not to be the same
  Duration backoff_first = 30s;      // then doubled
  double jitter = 0.1;               // up to this share on top
  OnDeadLetter on_dead_letter = OnDeadLetter::go_on;
  std::string hash_key;              // not empty: content hashes are HMACs
  Duration lease = 3s;
  Duration beat = 1s;
  std::size_t batch = 1024;           // entries in one transaction
  std::size_t in_flight_max = 256;   // sends under way
  Duration retention = 7 * 24h;      // of COMPLETED entries
  // When what was parked because it kills its workers (CRASHED) is tried again; then it is a person's.
  std::vector<Duration> crash_retries = {10min, 1h, 6h};
};

// Work that is due every so often, once across all processes of a database.
struct Job {
  std::string name;
  Duration every;
  std::function<void()> run;      // what it throws is logged and counted
  // For timers: asked after a run, how soon the next one must be, where that is before `every`.
  // A run that fails is then tried again within seconds.
  std::function<Duration()> again_in = {};
};

bool matches_type(std::string_view pattern, std::string_view type);

}  // namespace skald
