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
    {Rule::self_stop_on_lost_lease, "self_stop_on_lost_lease", "a worker that could not beat goes on working"},
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
    {Rule::unknown_not_guessed, "unknown_not_guessed", "a call without an answer counts as failed", Workload::sagas},
    {Rule::locks_released_at_end, "locks_released_at_end", "a saga ends with its locks", Workload::sagas},
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
