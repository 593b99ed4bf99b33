// Test seams: one per rule that a planted bug breaks on purpose.
//
//   if (seam::holds(Rule::fence_checked)) check_fence(tx, partition);
//
// The program links seam_intact.cc, in which every rule holds; the simulator and
// the interleaver link their own, which can break one rule at a time and must
// then find the bug. Chosen at link time: no build of the product can be broken
// by a setting.
#pragma once

namespace skald::seam {

enum class Rule {
  fence_checked,              // relays check and lock their partition's fence
  fence_raised,               // taking a partition over counts its fence up
  one_in_flight_per_key,      // an event waits for the earlier ones of its key
  failing_head_blocks_key,    // a head in backoff is not overtaken
  ids_drawn_under_key_lock,   // sequence numbers are drawn under the key's lock
  pending_read_from_start,    // no cursor outlives a pass
  attempts_capped,            // a failing event reaches the dead letters
  dedupe_in_effect_transaction,
  dedupe_checked,             // an event found in the inbox is not handled again
  lease_observed_whole,       // the taker saw an unchanged beat for a whole lease
  self_stop_on_lost_lease,    // a worker that cannot beat stops by its own clock
  old_backends_terminated,    // the taker ends the old owner's sessions
  orphans_recovered,          // PROCESSING rows of a dead owner are sent again
  answer_after_commit,        // no answer before the shared physical commit
  commit_unknown_resolved,    // a lost commit answer is asked for, not guessed
  emit_in_transaction,        // events are written by the transaction itself
  hash_over_stored_bytes,     // integrity is checked before each send
  same_id_every_attempt,      // a repeated send carries the same id
  dead_letter_kept,           // a dead letter is stored before its entry ends
  replay_through_inbox,       // a replayed event is deduped by its own id
  forgotten_counts_delivered, // a fallback record whose entry is gone is no dead letter
  api_key_in_transaction,     // an idempotency key commits with its effect
  api_key_body_compared,      // a key with another body is refused
  crash_counted,              // an event that crashes its process is parked
  fallback_synced,            // the fallback file is synced before it counts
  wake_flag_cleared_first,    // the wake-up flag is cleared before the scan
  saga_fence_checked,         // a saga's transaction checks and locks its fence first
  unknown_not_guessed,        // a call without an answer is not taken as failed
  locks_released_at_end,      // the last transaction of a saga gives its locks back
};

bool holds(Rule rule);

}  // namespace skald::seam
