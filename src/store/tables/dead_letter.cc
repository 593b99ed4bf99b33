#include "store/tables/dead_letter.h"

namespace skald::tables::dead_letter {

DeadLetter from_entry(const Entry& entry, std::string_view reason, std::string_view error, Time now) {
  const Event& e = entry.event;
  return {.id = entry.id,
          .reason = std::string(reason),
          .type = e.type,
          .key = e.key,
          .subject = e.subject,
          .payload = e.payload,
          .traceparent = e.traceparent,
          .content_hash = entry.content_hash,
          .attempts = entry.attempts,
          .last_error = std::string(error),
          .created_at = entry.created_at,
          .dead_at = now,
          .state = State::DEAD,
          .note = "",
          .resolved_at = Time{}};
}

bool put(Transaction& tx, const DeadLetter& letter) {
  const Rows before = tx.query("SELECT state FROM skald_dead_letter WHERE id = $1", letter.id);
  if (before.empty()) {
    tx.insert(letter);
    return true;
  }
  return tx.execute(
             "UPDATE skald_dead_letter SET state = 'DEAD', reason = $2, attempts = $3, last_error = $4, dead_at = $5 "
             "WHERE id = $1 AND state <> 'DEAD'",
             letter.id, letter.reason, letter.attempts, letter.last_error, letter.dead_at) == 1;
}

bool put_first(Transaction& tx, const DeadLetter& l) {
  return tx.execute(
             "INSERT INTO skald_dead_letter (id, reason, type, key, subject, payload, traceparent, content_hash, "
             "attempts, last_error, created_at, dead_at, state, note, resolved_at) "
             "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15) ON CONFLICT (id) DO NOTHING",
             l.id, l.reason, l.type, l.key, l.subject, l.payload, l.traceparent, l.content_hash, l.attempts,
             l.last_error, l.created_at, l.dead_at, l.state, l.note, l.resolved_at) == 1;
}

std::optional<DeadLetter> find(Transaction& tx, std::string_view id) { return tx.find<DeadLetter>(id); }
std::optional<DeadLetter> find_locked(Transaction& tx, std::string_view id) { return tx.find_locked<DeadLetter>(id); }

std::vector<DeadLetter> list(Transaction& tx, const Filter& f) {
  return tx.select<DeadLetter>(
      "WHERE (CAST($1 AS VARCHAR(20)) IS NULL OR state = $1) AND (CAST($2 AS VARCHAR(200)) IS NULL OR reason = $2) "
      "AND (CAST($3 AS VARCHAR(200)) IS NULL OR type = $3) AND (CAST($4 AS VARCHAR(200)) IS NULL OR key = $4) "
      "AND (CAST($5 AS VARCHAR(200)) IS NULL OR id < $5) ORDER BY id DESC LIMIT $6",
      f.state, f.reason, f.type, f.key, f.after, f.limit);
}

bool resolve(Transaction& tx, std::string_view id, State state, std::string_view note) {
  return tx.execute(
             "UPDATE skald_dead_letter SET state = $2, note = $3, resolved_at = $4 WHERE id = $1 AND state = 'DEAD'",
             id, state, note, tx.now()) == 1;
}

void block_key(Transaction& tx, std::string_view key, std::string_view event_id) {
  tx.execute("INSERT INTO skald_blocked_key (key, event_id, since) VALUES ($1, $2, $3) ON CONFLICT (key) DO NOTHING",
             key, event_id, tx.now());
}

void unblock_key(Transaction& tx, std::string_view event_id) {
  tx.execute("DELETE FROM skald_blocked_key WHERE event_id = $1", event_id);
}

}  // namespace skald::tables::dead_letter
