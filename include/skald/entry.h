// A row of the outbox: an event and what became of it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "skald/event.h"
#include "skald/json.h"
#include "skald/time.h"

namespace skald {

enum class EntryStatus { PENDING, PROCESSING, FAILED, COMPLETED, DEAD_LETTER };
BOOST_DESCRIBE_ENUM(EntryStatus, PENDING, PROCESSING, FAILED, COMPLETED, DEAD_LETTER)

// A row of the outbox. FAILED means waiting for its retry.
struct Entry {
  std::string id;
  std::int64_t seq = 0;              // commit order within a key
  int partition = 0;
  Event event;
  std::string source;                // the service that it came from; empty: this one
  std::string content_hash;
  EntryStatus status = EntryStatus::PENDING;
  int attempts = 0;                  // begun so far, counted by the claim itself
  int retries_max = 3;
  int crashes = 0;                   // owners that died with it in their hands
  Time next_retry_at{};
  std::string last_error;
  std::string locked_by;
  Time locked_at{};
  Duration took{};                   // of the last attempt
  Time created_at{};
  Time updated_at{};
  std::int64_t version = 0;
  bool out_of_order = false;
  std::int64_t owed = 0;             // a bit for each subscriber that is not known to have it
  std::string proof;                 // of those that have it: "NAME LETTER MICROSECONDS\n" each

  // Retries made, or scheduled where it waits for one.
  int retry_count() const { return status == EntryStatus::FAILED ? attempts : std::max(0, attempts - 1); }
};

}  // namespace skald
