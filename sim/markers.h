// "Sometimes" markers: proof that the runs really went through the interesting
// places. A place that a thousand seeds never reach is not tested.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/plan.h"

namespace skald::sim {

enum class Marker {
  crash_before_commit,
  crash_after_commit,
  crash_in_handler,
  crash_from_outside,
  answer_lost_committed,
  answer_lost_rolled_back,
  physical_commit_failed,
  transaction_ended_by_store,
  body_run_twice,
  database_away,
  writer_stopped,
  frozen_in_step,
  frozen_past_lease,
  slow_step,
  clock_forward,
  clock_back,
  clock_leapt,
  take_over,
  lease_lost,
  handed_over,
  graceful_stop,
  orphan_recovered,
  fenced_out,
  batch_split,
  key_waits_behind_retry,
  retry_succeeded,
  retry_after_honoured,
  dead_retries_exhausted,
  dead_refused,
  dead_integrity,
  dead_crashed,
  key_blocked,
  key_unblocked,
  file_fallback,
  file_failed,
  file_torn,
  file_imported,
  dead_letter_unsaved,
  dead_letter_untold,
  replayed,
  replayed_out_of_order,
  died_again,
  discarded,
  tampered,
  retention,
  sent_twice,
  message_lost,
  message_late,
  bus_answer_lost,
  wake_lost_then_delivered,
  batch_of_callers,
  duplicate_in_batch,
  api_replayed,
  api_key_reused,
  api_in_flight,
  business_refused,
  // of sagas
  saga_taken_over_in_call,
  saga_taken_over_in_undo,
  saga_late_caller,
  late_action_kept_out,
  saga_result_alone,
  saga_adrift_released,
  saga_joined,
  saga_crashed,
  saga_undo_stuck,
  saga_step_forsaken,
  saga_question_unclear,
  saga_deadline,
  saga_undone_by_hand,
  saga_no_way_back,
  saga_timed_out,
  signal_before_await,
  saga_lock_waited,
  saga_lock_granted,
  saga_lock_timed_out,
  saga_lacked,
  saga_child_adopted,
  saga_child_completed,
  saga_child_refused,
  saga_child_undone,
  // of sagas without their locks
  money_lost,
  dirty_read_named,
  lost_update_named,
  non_repeatable_read_named,
  dirty_undo_named,
  // of the booking system
  late_success,
  release_overtakes_reserve,
  duplicate_reserve,
  duplicate_release,
  cancel_races_confirm,
  cancelled_when_confirmed,
  cancel_too_late,
  slot_full,
  slot_closed,
  slot_started,
  saga_timeout,
  payment_declined,
  free_of_charge,
  refunded_in_part,
  attended,
  copy_stale,
  request_repeated,
  service_cut_off,
  // of the post
  letter_lost,
  letter_doubled,
  letter_late,
  letter_behind_newer,
  letter_truncated,
  letter_again,
  letter_waits_for_process,
  letters_together,
  post_nobody_there,
  receiver_busy,
  post_answer_lost,
  answer_late,
  answer_truncated,
  settled_by_stored_ids,
  question_unanswered,
  service_restored,
  gap_told,
  strangers_told,
  sent_again_when_restored,
  found_when_restored,
  // of agentflow
  outside_failed,
  outside_cut_off,
  outside_refused_amid,
  outside_answer_lost,
  outside_died_before,
  outside_died_amid,
  outside_died_after,
  agent_interrupted,
  machine_rebooted,
  second_try,
  agent_asked,
  agent_completed_by_word,
  query_answered_by_mail,
  flow_asked_again,
  flow_restored,
  flow_restore_undone,
  works_joined,
  join_undone,
  flow_integrated,
  flow_integration_undone,
  count,
};
inline constexpr std::size_t kMarkers = static_cast<std::size_t>(Marker::count);

std::string_view name_of(Marker marker);
// Whether runs of this workload must reach it.
bool is_wanted(Marker marker, Workload workload);

class Markers {
 public:
  void hit(Marker marker) { ++counts_[static_cast<std::size_t>(marker)]; }
  std::uint64_t of(Marker marker) const { return counts_[static_cast<std::size_t>(marker)]; }
  void add(Marker marker, std::uint64_t by) { counts_[static_cast<std::size_t>(marker)] += by; }
  void add(const Markers& other) {
    for (std::size_t i = 0; i < kMarkers; ++i) counts_[i] += other.counts_[i];
  }

 private:
  std::array<std::uint64_t, kMarkers> counts_{};
};

}  // namespace skald::sim
