// Ledger: dead letters, and what must hold when everything has healed.
#include "sim/business.h"
#include "sim/ledger.h"
#include "sim/signals.h"
#include "store/tables/outbox.h"

namespace skald::sim {

bool Ledger::in_a_file(std::string_view id) const {
  for (const FaultyFile* file : files_)
    if (file->holds(id)) return true;
  return false;
}

// Whatever the outbox gave up lies in the table or in a file, at every instant.
void Ledger::check_dead_letters() {
  letters_dirty_ = false;
  stage_.look([&](Transaction& tx) {
    const Rows letters = tx.query("SELECT id, state, reason, payload FROM skald_dead_letter");
    for (std::size_t i = 0; i < letters.size(); ++i) {
      const auto state = letters.get<std::string>(i, 1), reason = letters.get<std::string>(i, 2);
      std::string& before = letter_states_[letters.get<std::string>(i, 0)];
      if (state == "DEAD" && before != state) {
        if (before == "REPLAYED") stage_.markers.hit(Marker::died_again);
        stage_.markers.hit(reason == "REFUSED"     ? Marker::dead_refused
                           : reason == "INTEGRITY" ? Marker::dead_integrity
                           : reason == "CRASHED"   ? Marker::dead_crashed
                                                   : Marker::dead_retries_exhausted);
        if (reason == "CRASHED" && temper_of(letters.get<std::string>(i, 3)) != Temper::poison)
          broken("I5", "event " + letters.get<std::string>(i, 0) +
                           " is blamed for deaths of its workers that it did not cause");
      }
      before = state;
    }
    const Rows lost = tx.query(
        "SELECT o.id FROM skald_outbox o WHERE o.status = 4 AND NOT EXISTS "
        "(SELECT 1 FROM skald_dead_letter d WHERE d.id = o.id AND d.state <> 'REPLAYED')");
    for (std::size_t i = 0; i < lost.size(); ++i) {
      if (!in_a_file(lost.get<std::string_view>(i, 0)))
        broken("I1",
               "event " + lost.get<std::string>(i, 0) + " was given up and is in neither the dead letters nor a file");
    }
  });
}

void Ledger::mark_waiting_keys() {
  stage_.look([&](Transaction& tx) {
    if (!tx.query("SELECT 1 FROM skald_blocked_key LIMIT 1").empty()) stage_.markers.hit(Marker::key_blocked);
    const Rows waiting = tx.query(
        "SELECT 1 FROM skald_outbox head JOIN skald_outbox later ON later.key = head.key AND later.seq > head.seq "
        "WHERE head.live = 1 AND later.live = 1 AND head.status = 2 LIMIT 1");
    if (!waiting.empty()) stage_.markers.hit(Marker::key_waits_behind_retry);
  });
}

std::string Ledger::unfinished() {
  std::string out;
  stage_.look([&](Transaction& tx) {
    const Rows rows = tx.query(
        "SELECT id, status, key, type, attempts, crashes, locked_by, next_retry_at - $1, "
        "(SELECT COALESCE(owner, 'nobody') || CASE WHEN EXISTS (SELECT 1 FROM skald_worker w WHERE w.id = p.owner) "
        "THEN '' ELSE ' (no worker)' END "
        "FROM skald_partition p WHERE p.id = o.partition) FROM skald_outbox o WHERE live = 1 "
        "AND NOT EXISTS (SELECT 1 FROM skald_blocked_key b WHERE b.key = o.key) ORDER BY seq LIMIT 3",
        tx.now());
    for (std::size_t i = 0; i < rows.size(); ++i)
      out += " [" + rows.get<std::string>(i, 0) + " status " + std::to_string(rows.get<std::int64_t>(i, 1)) + " " +
             rows.get<std::string>(i, 2) + " " + rows.get<std::string>(i, 3) + " attempts " +
             std::to_string(rows.get<std::int64_t>(i, 4)) + " crashes " + std::to_string(rows.get<std::int64_t>(i, 5)) +
             " by " + rows.get<std::string>(i, 6) + " due in " + std::to_string(rows.get<std::int64_t>(i, 7)) +
             " us, partition of " + rows.get<std::string>(i, 8) + "]";
  });
  return out;
}

void Ledger::check_end() {
  dirty_ = owners_dirty_ = true;
  observe();
  check_dead_letters();
  for (const std::string& subject : acknowledged_)
    if (!subjects_.contains(subject)) broken("I9", subject + " was acknowledged and has not survived");
  stage_.look([&](Transaction& tx) {
    for (const auto& [id, event] : events_) check_entry(id, event, tx);
  });
}

void Ledger::check_entry(const std::string& id, const Emitted& event, Transaction& tx) {
  const auto entry = tables::outbox::find(tx, id);
  const EntryStatus status = entry ? entry->status : EntryStatus::COMPLETED;
  const std::string called = "event " + id + " (" + event.type + " " + event.key + " #" + std::to_string(event.n) + ")";
  if (status == EntryStatus::DEAD_LETTER) return;  // check_dead_letters() knows where it lies
  if (status != EntryStatus::COMPLETED)
    broken("I1", called + " is still " + std::string(enum_name(status)) + " when all is quiet");
  for (const std::string& consumer : consumers_of(event.type))
    if (!event.effects.contains(consumer)) broken("I1", called + " is COMPLETED and " + consumer + " never applied it");
  if (goes_to_bus(event.type) && event.receipts == 0)
    broken("I1", called + " is COMPLETED and the receiver never got it");
  const Rows settled = tx.query("SELECT status FROM sim_settled WHERE event_id = $1 ORDER BY n DESC LIMIT 1", id);
  if (settled.empty() || settled.get<std::string>(0, 0) != "COMPLETED")
    broken("I1", called + " is COMPLETED and its service was not told");
  const Rows letter = tx.query("SELECT state FROM skald_dead_letter WHERE id = $1 AND state = 'DEAD'", id);
  if (!letter.empty()) broken("I1", called + " is COMPLETED and a dead letter as well");
}

}  // namespace skald::sim
