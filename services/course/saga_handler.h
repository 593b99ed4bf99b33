// What course does in a booking's saga: takes seats of a slot and gives them back, each in the
// transaction of its event, with the answer in the same commit.
//
// | what comes                             | what happens                                      |
// | slot.reserve                           | slot.reserved + slot.changed, or slot.reserve.failed |
// | slot.reserve behind its release        | slot.reserve.failed SLOT_RELEASED                 |
// | slot.release                           | slot.released + slot.changed                      |
// | slot.release before its reserve        | remembered; slot.released with no players         |
// | either of them again                   | counted, nothing else                             |
// | what cannot be read                    | Invalid: a dead letter                            |
//
// The reservation's row is written first and decides between two that come at once: the
// second waits for the first one's end.
#pragma once

#include "course/record.h"
#include "golf/events.h"
#include "skald/bus.h"
#include "skald/database.h"
#include "skald/optimistic.h"

namespace course {

struct SagaLine;

class SagaHandler {
 public:
  SagaHandler(skald::Env env, skald::Pause pause, int lock_tries)
      : env_(env),
        pause_(std::move(pause)),
        slot_tries_{.aggregate = "slot", .tries = lock_tries, .first = std::chrono::milliseconds(50)} {}

  void reserve(skald::Transaction& tx, const skald::Message& message) const;
  void release(skald::Transaction& tx, const skald::Message& message) const;

 private:
  struct Seats;
  Seats take_seats(skald::Transaction& tx, const golf::SlotReserve& wanted, std::optional<StoredSlot> slot,
                   SagaLine& line) const;

  skald::Env env_;
  skald::Pause pause_;
  skald::RetryPolicy slot_tries_;
};

}  // namespace course
