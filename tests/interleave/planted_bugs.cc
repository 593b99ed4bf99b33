#include "interleave/planted_bugs.h"

#include <algorithm>
#include <stdexcept>

#include "fault_proxy/fault_proxy.h"
#include "fault_proxy/postgres_address.h"
#include "interleave/planted.h"

namespace skald::test {
namespace {

constexpr char kFaultProxy[] = "fault proxy";

// One write whose COMMIT arrives while its answer does not. (With the zero behind
// it: READ COMMITTED is another thing.)
std::optional<Caught> catch_by_lost_answer(Stage& stage) {
  stage.reset(kKey);
  const auto [host, port] = postgres_address(stage.url());
  FaultProxy proxy(host, port);
  const auto db = open_postgres(stage.env(0), {.url = proxy.postgres_url(stage.url()), .connections = 1});
  proxy.at_message(std::string("COMMIT", 7), FaultProxy::Fault::lose_answer);
  db->write("lost", [](Transaction& tx) { Stage::put_effect(tx, "e1", kKey); });
  if (stage.effects() == "e1") return std::nullopt;
  return Caught{kFaultProxy, 1, "one write had the effects '" + stage.effects() + "'"};
}

}  // namespace

std::vector<PlantedBug> planted_bugs() {
  using enum seam::Rule;
#define SKALD_BUG(rule, bug, scenario) \
  PlantedBug { rule, #rule, bug, scenario }
  return {
      SKALD_BUG(ids_drawn_under_key_lock, "sequence numbers are drawn without the key's lock", "emit"),
      SKALD_BUG(pending_read_from_start, "the relay keeps its cursor from pass to pass", "skip"),
      SKALD_BUG(wake_flag_cleared_first, "the wake-up flag is cleared after the scan", "wake"),
      SKALD_BUG(fence_checked, "a relay works without looking at its fence", "fence"),
      SKALD_BUG(fence_raised, "a take-over leaves the fence as it was", "takers"),
      SKALD_BUG(orphans_recovered, "what a dead owner had in hand stays PROCESSING", "claim"),
      SKALD_BUG(old_backends_terminated, "the taker leaves a stopped owner's sessions alone", "take-over"),
      SKALD_BUG(dedupe_in_effect_transaction, "the inbox row is written after the effect has committed", "take-over"),
      SKALD_BUG(dedupe_checked, "an event found in the inbox is handled again", "take-over"),
      SKALD_BUG(api_key_in_transaction, "the idempotency key is stored after the effect has committed", "api-key"),
      SKALD_BUG(api_key_body_compared, "a key answers for another body", "api-key-reused"),
      SKALD_BUG(effect_id_kept, "who repeats a request has an effect of his own", "act-key"),
      SKALD_BUG(first_answer_given, "two under one key are answered differently", "act-key"),
      SKALD_BUG(saga_fence_checked, "a saga is written without looking who owns it", "saga-take-over"),
      SKALD_BUG(saga_fence_locked, "a saga's owner is looked at and not held", "saga-take-over"),
      SKALD_BUG(business_key_locked, "two starts with one key do not wait for each other", "saga-key"),
      SKALD_BUG(signal_meets_row, "a signal does not wait for its saga's transaction", "saga-signal"),
      SKALD_BUG(lack_said_first, "a saga waits for something without a look after it has said so", "saga-freed"),
      SKALD_BUG(freed_marked, "what is freed while a saga looks is not noticed", "saga-freed"),
      SKALD_BUG(child_end_awaited, "a parent looks at its child while that ends", "saga-child"),
      SKALD_BUG(lock_place_probed, "a lock's place is looked at while another is there", "lock-probe"),
      SKALD_BUG(lock_queue_entered_alone, "a lock is granted to who has just given up", "lock-grant"),
      SKALD_BUG(lock_given_back_alone, "two who give a lock back do not see each other", "lock-handover"),
      SKALD_BUG(late_action_kept_out, "an action works after its undo has overtaken it", "barrier"),
      SKALD_BUG(permit_checked, "a permit is not looked at before its effect", "late-holder"),
      SKALD_BUG(version_gap_waits, "a version is applied before the one ahead of it", "version-file"),
      SKALD_BUG(commit_unknown_resolved, "a lost commit answer is taken for a rollback", kFaultProxy),
  };
#undef SKALD_BUG
}

std::optional<Caught> catch_bug(Stage& stage, const PlantedBug& bug, int schedules_max) {
  const Planted planted(bug.rule);
  if (bug.scenario == kFaultProxy) return catch_by_lost_answer(stage);
  const auto all = scenarios();
  const auto scenario = std::ranges::find(all, bug.scenario, &Scenario::name);
  if (scenario == all.end()) throw std::logic_error("no scenario " + bug.scenario);
  const Exploration found = explore(stage, *scenario, schedules_max);
  if (!found.finding) return std::nullopt;
  return Caught{"interleaver: " + scenario->name, found.schedules, found.finding->what};
}

}  // namespace skald::test
