// A line of the log about one step of a booking's saga, with what is needed to tell its story.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "golf/events.h"
#include "skald/bus.h"
#include "skald/database.h"

namespace course {

struct SagaLine {
  std::string tag = "[SagaHandler]";
  std::string booking_id, slot_id, saga_id;
  std::string traceparent;
  std::optional<golf::Refusal> code;
  std::optional<std::int64_t> players;
  std::optional<golf::SlotStatus> status;
  std::optional<std::int64_t> booked, max, version;  // of the slot, as it is left
  std::optional<int> attempt, attempts_max;
  std::optional<std::int64_t> micros;

  SagaLine(const std::string& booking, std::string slot, const skald::Message& message)
      : booking_id(booking), slot_id(std::move(slot)), saga_id(booking), traceparent(message.event.traceparent) {}

  void show(const golf::Slot& slot);
  std::string fields() const;
};
BOOST_DESCRIBE_STRUCT(SagaLine, (),
                      (tag, booking_id, slot_id, saga_id, traceparent, code, players, status, booked, max, version,
                       attempt, attempts_max, micros))

// What became of a step, counted and logged once it is committed: a transaction may run
// several times before that.
struct StepEnd {
  std::string_view metric;   // counted; a literal
  std::string_view timing;   // of the whole step; a literal
  std::string_view message;  // a literal
};
void tell_at_commit(skald::Transaction& tx, skald::Env env, const StepEnd& end, SagaLine line, skald::Instant begun);

}  // namespace course
