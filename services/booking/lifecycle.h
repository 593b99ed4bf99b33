// The states of a booking and all that may change them. Each call is part of the caller's
// transaction: the row, its history, its money and its events change together or not at all.
//
//            +--> FAILED        (refused, declined, too late)
//   PENDING -+--> CONFIRMED -+--> COMPLETED, NO_SHOW   (by an admin, after the start)
//            +--> CANCELLED <+
//
// Whoever leaves PENDING without an answer of course, or leaves CONFIRMED before the start,
// gives the seats back by one slot.release, whose id derives from the booking's: course
// frees them once, whether its reserve comes before or after.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "booking/booking.h"
#include "booking/ledger.h"
#include "booking/record.h"
#include "golf/events.h"

namespace booking {

// Who makes it happen, and the trace that it belongs to.
struct Cause {
  std::string actor;
  std::string traceparent = {};
};

struct Wanted {
  std::string slot_id, customer;
  std::int64_t players = 0;
};

enum class CancelKind { customer, admin, system };

class Lifecycle {
 public:
  Lifecycle(skald::Env env, Options options);

  // Stale where the time that is wanted is not known here.
  Booking create(skald::Transaction& tx, const Wanted& wanted, const Cause& cause);

  // What course says. A booking that is not known here is a dead letter: Refused.
  void on_reserved(skald::Transaction& tx, const golf::SlotReserved& answer, const Cause& cause);
  void on_refused(skald::Transaction& tx, const golf::SlotReserveFailed& answer, const Cause& cause);
  void on_released(skald::Transaction& tx, const golf::SlotReleased& answer, const Cause& cause);

  // Fails what is still PENDING; anything else is left as it is.
  void expire(skald::Transaction& tx, const std::string& id, const Cause& cause);

  // What people decide of a booking that is there: as it is then. Conflict: CANCEL_TOO_LATE,
  // NOT_STARTED, INVALID_TRANSITION.
  Booking cancel(skald::Transaction& tx, const std::string& id, CancelKind kind, const std::string& reason,
                 const Cause& cause);
  Booking attend(skald::Transaction& tx, const std::string& id, Status outcome, const Cause& cause);

 private:
  Booking locked(skald::Transaction& tx, const std::string& id);
  // Writes the row with one line of history.
  void record(skald::Transaction& tx, Booking& booking, Happening what, const Cause& cause);
  void fail(skald::Transaction& tx, Booking& booking, golf::Reason reason, const Cause& cause);
  void release(skald::Transaction& tx, Booking& booking, const Cause& cause);
  void tell(skald::Transaction& tx, const Booking& booking, const std::string& type, const Cause& cause);

  skald::Env env_;
  Options options_;
  std::unique_ptr<Payments> payments_;
};

golf::BookingNews news_of(const Booking& booking);

}  // namespace booking
