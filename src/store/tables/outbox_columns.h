// The columns of skald_outbox as they are read, in one order, and as many are written at once.
#pragma once

#include <vector>

#include "base/hash.h"
#include "skald/database.h"
#include "skald/entry.h"

namespace skald::tables::outbox {

#define SKALD_ENTRY_COLUMNS                                                                               \
  "id, seq, partition, key, type, subject, payload, traceparent, content_hash, status, attempts, "        \
  "retries_max, crashes, next_retry_at, last_error, locked_by, locked_at, took, created_at, updated_at, " \
  "version, out_of_order, source, COALESCE(owed, 0), proof"

inline constexpr std::size_t kColumnCount = 25;

// `text` and `number` give the next column each.
Entry read_entry(const auto& text, const auto& number) {
  Entry e;
  e.id = text();
  e.event.id = e.id;
  e.seq = number();
  e.partition = static_cast<int>(number());
  e.event.key = text();
  e.event.type = text();
  e.event.subject = text();
  e.event.payload = text();
  e.event.traceparent = text();
  e.content_hash = text();
  e.status = static_cast<EntryStatus>(number());
  e.attempts = static_cast<int>(number());
  e.retries_max = static_cast<int>(number());
  e.crashes = static_cast<int>(number());
  e.next_retry_at = from_micros(number());
  e.last_error = text();
  e.locked_by = text();
  e.locked_at = from_micros(number());
  e.took = Duration(number());
  e.created_at = from_micros(number());
  e.updated_at = from_micros(number());
  e.version = number();
  e.out_of_order = number() != 0;
  e.source = text();
  e.owed = number();
  e.proof = text();
  return e;
}

inline Entry entry_at(const Rows& rows, std::size_t row) {
  std::size_t c = 0;
  return read_entry([&] { return rows.get<std::string>(row, c++); }, [&] { return rows.get<std::int64_t>(row, c++); });
}

inline std::vector<Entry> entries_in(const Rows& rows) {
  std::vector<Entry> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(entry_at(rows, i));
  return out;
}

// A transaction that only writes need not ask for the time first.
#define SKALD_NOW "(extract(epoch FROM clock_timestamp()) * 1000000)::bigint"

// Who is to have an event of this type: a bit for each subscriber.
#define SKALD_OWED(type)                                                                                        \
  "(SELECT CAST(COALESCE(SUM(DISTINCT s.mask), 0) AS BIGINT) FROM skald_subscription s WHERE (s.is_prefix = 0 " \
  "AND s.type = " type ") OR (s.is_prefix = 1 AND substr(" type ", 1, length(s.type)) = s.type))"
// An event that is for subscribers alone is nothing to the relay.
#define SKALD_LIVE_IF(local, owed) "CASE WHEN " local " = 1 OR " owed " = 0 THEN 1 ELSE 0 END"

// Advisory locks share one space per database: this keeps ours apart.
inline std::int64_t key_lock(std::string_view key) {
  return static_cast<std::int64_t>(hash64(unambiguous({"skald-outbox-key", key})));
}

// What every statement that writes events has first, $1 to $9: of one by bind_event(), of many by
// EventArrays.
#define SKALD_EVENT_COLUMNS "id, partition, key, type, subject, payload, traceparent, content_hash, retries_max"
#define SKALD_EVENT_ARRAYS \
  "$1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::bigint[]"
// Of the arrays, as e(…).
#define SKALD_EVENT_VALUES \
  "e.id, e.partition, e.key, e.type, e.subject, e.payload, e.traceparent, e.content_hash, e.retries_max"

// What it is made of must live until the statement has run.
inline std::vector<Param> bind_event(const Event& event, const std::string& hash, int retries_max) {
  return {event.id,      partition_of(event.key), event.key, event.type, event.subject,
          event.payload, event.traceparent,       hash,      retries_max};
}

// Events as the arrays of one statement.
struct EventArrays {
  std::vector<std::int64_t> locks, partitions, retries;
  std::vector<std::string> ids, keys, types, subjects, payloads, traces, hashes;

  void add(const Event& event, const std::string& hash, int retries_max) {
    locks.push_back(key_lock(event.key));
    partitions.push_back(partition_of(event.key));
    retries.push_back(retries_max);
    ids.push_back(event.id);
    keys.push_back(event.key);
    types.push_back(event.type);
    subjects.push_back(event.subject);
    payloads.push_back(event.payload);
    traces.push_back(event.traceparent);
    hashes.push_back(hash);
  }
  std::vector<Param> bind() const {
    return {ids, partitions, keys, types, subjects, payloads, traces, hashes, retries};
  }
};

}  // namespace skald::tables::outbox
