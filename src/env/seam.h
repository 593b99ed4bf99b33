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
  effect_id_kept,             // who repeats a request goes on under the id of its effect
  first_answer_given,         // of two answers to one request both get the first
  crash_counted,              // an event that crashes its process is parked
  fallback_synced,            // the fallback file is synced before it counts
  wake_flag_cleared_first,    // the wake-up flag is cleared before the scan
  // Who runs a saga.
  saga_fence_checked,         // a saga's transaction looks first whether it is still its own
  saga_fence_locked,          // and keeps others away until it has committed
  saga_crashes_counted,       // a saga whose owners keep dying is parked
  adrift_sagas_released,      // what a worker took after it was declared dead becomes due
  lost_claims_released,       // what was claimed without an answer becomes due
  business_key_checked,       // one live saga per type and key
  business_key_locked,        // two starts with one key come one after the other
  // What is done, and undone.
  failed_step_discarded,      // nothing of a step that fails is committed
  state_restored,             // a step that runs again finds the state as it was
  log_stored,                 // what was done stands in the saga's log
  only_done_is_undone,        // a step that was refused has no undo
  undone_in_reverse,          // what was done last is undone first
  pivot_is_final,             // behind the pivot nothing is undone
  failing_undo_parked,        // an undo that keeps failing calls a person
  // Remote calls.
  intent_committed_first,     // the table says that a call is made before it is
  result_kept,                // the answer of a call outlives the failure of what follows
  same_key_every_call,        // a call is repeated under the same key
  unknown_not_guessed,        // a call without an answer is not taken as failed
  asked_pivot_awaited,        // nothing is undone while the pivot has no answer
  // Semantic locks.
  locks_taken_first,          // a step waits for its locks before it runs
  locks_in_global_order,      // everybody asks for locks in the same order
  locks_released_at_end,      // the last transaction of a saga gives its locks back
  lock_place_probed,          // who looks at a lock's place keeps others away from it
  lock_queue_entered_alone,   // a queue is changed by one transaction at a time
  lock_given_back_alone,      // who gives a lock back sees who else does
  queue_not_overtaken,        // who comes later waits behind those who wait
  granted_on_release,         // the next in the queue gets what is given back
  grant_beats_timeout,        // who was granted a lock has it, however late it looks
  child_leaves_locks,         // a child's locks are its root's, to the root's end
  // Waits.
  lack_said_first,            // who lacks something says so before the look that makes it wait
  freed_marked,               // and does not miss what is freed during that look
  lack_forgotten,             // who lacks it no longer is not waited with
  signal_kept,                // a signal may come before anybody waits for it
  signal_taken_once,          // a signal ends one wait
  signal_meets_row,           // a signal and the wait for it do not miss each other
  sleep_kept,                 // a sleep that is disturbed goes on
  parent_told,                // a child's end wakes its parent
  child_end_awaited,          // a parent that looks after its child does not miss its end
  // Countermeasures beside the locks.
  late_action_kept_out,       // an action that its undo has overtaken does nothing
  repetition_known,           // an action that comes again does nothing
  permit_checked,             // who holds a permit no longer has no effect
  version_gap_waits,          // versions are applied in the order of their numbers
  // Between services.
  landed_behind_its_key,      // what lands is not handled before what waits in its key
  // The booking system.
  reservation_looked_at,      // a reserve looks whether its booking has seats already
  release_looks_at_state,     // a release frees what is reserved, and nothing else
  early_release_remembered,   // a release that comes first keeps its reserve out
  closed_stays_closed,        // seats that are given back do not open a slot
  capacity_checked,           // nobody gets seats that there are not
  refused_reserve_withdrawn,  // who gets no seats has no reservation
  late_seats_given_back,      // seats that come after a booking's end are not kept
  answer_known_again,         // a confirmed booking does not mind a second answer
  timeout_gives_back,         // who gives up waiting wants no seats any more
  confirm_looks_at_status,    // only what is pending is confirmed
  charged_when_confirmed,     // the charge belongs to the decision to confirm
  declined_gives_back,        // who cannot pay keeps no seats
  released_under_one_id,      // a booking gives its seats back once
  newer_copy_kept,            // older news of a slot change nothing
};

bool holds(Rule rule);

}  // namespace skald::seam
