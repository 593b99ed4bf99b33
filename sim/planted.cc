#include "sim/planted.h"

#include "sim/simulate.h"

namespace skald::sim {
namespace {

using seam::Rule;

std::optional<Rule> broken_rule;

constexpr PlantedBug kBugs[] = {
    {Rule::fence_checked, "fence_checked", "a relay writes without looking whether its partition is still its own"},
    {Rule::fence_raised, "fence_raised", "a partition changes hands under the same fence"},
    {Rule::one_in_flight_per_key, "one_in_flight_per_key", "the next event of a key is sent while one is under way"},
    {Rule::failing_head_blocks_key, "failing_head_blocks_key",
     "an event overtakes one of its key that waits for its retry"},
    {Rule::pending_read_from_start, "pending_read_from_start",
     "a relay reads on behind the last entry it saw, for ever"},
    {Rule::attempts_capped, "attempts_capped", "an event that always fails is tried for ever"},
    {Rule::dedupe_in_effect_transaction, "dedupe_in_effect_transaction",
     "the inbox row is written after the effect's commit"},
    {Rule::dedupe_checked, "dedupe_checked", "an event found in the inbox is handled again"},
    {Rule::lease_observed_whole, "lease_observed_whole", "a worker is declared dead after two looks at one beat"},
    {Rule::orphans_recovered, "orphans_recovered", "what a dead worker had in hand stays PROCESSING"},
    {Rule::answer_after_commit, "answer_after_commit", "a caller is answered before the shared physical commit"},
    {Rule::emit_in_transaction, "emit_in_transaction", "events are written after the business transaction"},
    {Rule::hash_over_stored_bytes, "hash_over_stored_bytes", "the content hash is not checked before a send"},
    {Rule::same_id_every_attempt, "same_id_every_attempt", "each attempt has an id of its own"},
    {Rule::dead_letter_kept, "dead_letter_kept", "an entry is given up without its dead letter"},
    {Rule::replay_through_inbox, "replay_through_inbox", "a replayed dead letter gets a new id"},
    {Rule::forgotten_counts_delivered, "forgotten_counts_delivered",
     "an import makes a dead letter of what was delivered and forgotten"},
    {Rule::api_key_in_transaction, "api_key_in_transaction", "an idempotency key is stored after the effect's commit"},
    {Rule::api_key_body_compared, "api_key_body_compared", "a key with another body gets the first one's answer"},
    {Rule::crash_counted, "crash_counted", "deaths of an event's owners are not counted"},
    {Rule::fallback_synced, "fallback_synced", "the fallback file is not synced"},
    {Rule::wake_flag_cleared_first, "wake_flag_cleared_first", "the wake-up flag is cleared after the scan"},
    {Rule::saga_fence_checked, "saga_fence_checked", "a saga is written without looking who owns it", Workload::sagas},
    {Rule::saga_crashes_counted, "saga_crashes_counted", "a saga that kills its workers is taken over for ever",
     Workload::sagas},
    {Rule::adrift_sagas_released, "adrift_sagas_released", "what a worker took after its end stays its own",
     Workload::sagas},
    {Rule::lost_claims_released, "lost_claims_released", "what was claimed without an answer is run by nobody",
     Workload::sagas},
    {Rule::business_key_checked, "business_key_checked", "two sagas of one business key run at once", Workload::sagas},
    {Rule::failed_step_discarded, "failed_step_discarded", "what a step did before it failed is committed",
     Workload::sagas},
    {Rule::state_restored, "state_restored", "a step that runs again finds the state as it left it", Workload::sagas},
    {Rule::log_stored, "log_stored", "a saga is stored without its step log", Workload::sagas},
    {Rule::only_done_is_undone, "only_done_is_undone", "a step that was refused is undone", Workload::sagas},
    {Rule::undone_in_reverse, "undone_in_reverse", "steps are undone in the order in which they were done",
     Workload::sagas},
    {Rule::pivot_is_final, "pivot_is_final", "a saga behind its pivot is undone", Workload::sagas},
    {Rule::failing_undo_parked, "failing_undo_parked", "an undo that keeps failing is tried for ever", Workload::sagas},
    {Rule::intent_committed_first, "intent_committed_first", "a call is made that the table does not know of",
     Workload::sagas},
    {Rule::result_kept, "result_kept", "the answer of a call is lost with what follows it", Workload::sagas},
    {Rule::same_key_every_call, "same_key_every_call", "each attempt of a call has a key of its own", Workload::sagas},
    {Rule::unknown_not_guessed, "unknown_not_guessed", "a call without an answer counts as failed", Workload::sagas},
    {Rule::asked_pivot_awaited, "asked_pivot_awaited", "a saga is undone while its pivot has no answer",
     Workload::sagas},
    {Rule::locks_taken_first, "locks_taken_first", "a step runs first and takes its locks then", Workload::sagas},
    {Rule::locks_in_global_order, "locks_in_global_order", "each saga takes its locks in its own order",
     Workload::sagas},
    {Rule::locks_released_at_end, "locks_released_at_end", "a saga ends with its locks", Workload::sagas},
    {Rule::queue_not_overtaken, "queue_not_overtaken", "a newcomer overtakes those who wait for a lock",
     Workload::sagas},
    {Rule::granted_on_release, "granted_on_release", "nobody is granted a lock that is given back", Workload::sagas},
    {Rule::grant_beats_timeout, "grant_beats_timeout", "a waiter is both granted its lock and timed out",
     Workload::sagas},
    {Rule::child_leaves_locks, "child_leaves_locks", "a child gives its root's locks back", Workload::sagas},
    {Rule::signal_kept, "signal_kept", "a signal that comes before anybody waits is lost", Workload::sagas},
    {Rule::signal_taken_once, "signal_taken_once", "one signal ends two waits", Workload::sagas},
    {Rule::lack_forgotten, "lack_forgotten", "a saga that has ended is still said to lack something", Workload::sagas},
    {Rule::sleep_kept, "sleep_kept", "a saga that is woken early sleeps no more", Workload::sagas},
    {Rule::parent_told, "parent_told", "a child's end is not told to its parent", Workload::sagas},
    {Rule::late_action_kept_out, "late_action_kept_out", "an action works after its undo has overtaken it",
     Workload::sagas},
    {Rule::repetition_known, "repetition_known", "an action that comes again works again", Workload::sagas},
    {Rule::landed_behind_its_key, "landed_behind_its_key", "what lands is handled before what waits in its key",
     Workload::booking},
    {Rule::reservation_looked_at, "reservation_looked_at", "a reserve that comes again takes seats again",
     Workload::booking},
    {Rule::release_looks_at_state, "release_looks_at_state", "a release that comes again frees seats again",
     Workload::booking},
    {Rule::early_release_remembered, "early_release_remembered",
     "a release before its reserve is forgotten, and the reserve takes seats", Workload::booking},
    {Rule::closed_stays_closed, "closed_stays_closed", "a release opens a closed slot", Workload::booking},
    {Rule::capacity_checked, "capacity_checked", "seats are taken that there are not", Workload::booking},
    {Rule::refused_reserve_withdrawn, "refused_reserve_withdrawn", "a refused reserve leaves its reservation",
     Workload::booking},
    {Rule::late_seats_given_back, "late_seats_given_back", "seats that come after a booking's end are kept",
     Workload::booking},
    {Rule::answer_known_again, "answer_known_again", "a second answer frees the seats of a confirmed booking",
     Workload::booking},
    {Rule::timeout_gives_back, "timeout_gives_back", "a booking that timed out does not give its seats back",
     Workload::booking},
    {Rule::confirm_looks_at_status, "confirm_looks_at_status", "a booking that is over is confirmed",
     Workload::booking},
    {Rule::charged_when_confirmed, "charged_when_confirmed", "the charge is made before it is known who confirms",
     Workload::booking},
    {Rule::declined_gives_back, "declined_gives_back", "a booking that was declined keeps its seats",
     Workload::booking},
    {Rule::released_under_one_id, "released_under_one_id", "seats are given back twice, under ids of their own",
     Workload::booking},
    {Rule::newer_copy_kept, "newer_copy_kept", "the copy of the slots takes older versions", Workload::booking},
};

}  // namespace

std::span<const PlantedBug> planted_bugs() { return kBugs; }

Broken::Broken(Rule rule) { broken_rule = rule; }
Broken::~Broken() { broken_rule.reset(); }

std::optional<Caught> hunt(const PlantedBug& bug, std::uint64_t first, int seeds_max) {
  const Broken broken(bug.rule);
  for (int i = 0; i < seeds_max; ++i) {
    const std::uint64_t seed = first + static_cast<std::uint64_t>(i);
    const Run run = simulate(seed, bug.workload);
    if (run.broken) return Caught{run.broken->invariant, run.broken->text, seed, i + 1};
  }
  return std::nullopt;
}

}  // namespace skald::sim

// Takes the place of src/env/seam_intact.cc in this program.
namespace skald::seam {

bool holds(Rule rule) { return sim::broken_rule != rule; }

}  // namespace skald::seam
