// What booking, course and notify tell each other. Each struct is the payload of one type
// of event; the comment says who emits it, and under which key.
//
// | type                | from -> to         | key        | payload           |
// | slot.reserve        | booking -> course  | slot id    | SlotReserve       |
// | slot.release        | booking -> course  | slot id    | SlotRelease       |
// | slot.reserved       | course -> booking  | booking id | SlotReserved      |
// | slot.reserve.failed | course -> booking  | booking id | SlotReserveFailed |
// | slot.released       | course -> booking  | booking id | SlotReleased      |
// | slot.changed        | course -> booking  | slot id    | Slot              |
// | booking.confirmed   | booking -> notify  | booking id | BookingNews       |
// | booking.failed      | booking -> notify  | booking id | BookingNews       |
// | booking.cancelled   | booking -> notify  | booking id | BookingNews       |
//
// The subject of each is the booking's id, of slot.changed the slot's.
#pragma once

#include <optional>
#include <string>

#include "golf/slot.h"

namespace golf {

// A booking wants seats, once. Its id is the booking's with ".reserve" behind it.
struct SlotReserve {
  std::string booking_id, slot_id;
  std::int64_t players = 0;
};
BOOST_DESCRIBE_STRUCT(SlotReserve, (), (booking_id, slot_id, players))

// A booking gives its seats back, or never wants them: it may overtake its reserve, which is
// refused then. Its id is the booking's with ".release" behind it.
struct SlotRelease {
  std::string booking_id, slot_id;
};
BOOST_DESCRIBE_STRUCT(SlotRelease, (), (booking_id, slot_id))

struct SlotReserved {
  std::string booking_id, slot_id;
  std::int64_t players = 0;
};
BOOST_DESCRIBE_STRUCT(SlotReserved, (), (booking_id, slot_id, players))

// SLOT_FULL: not enough seats are left. SLOT_BUSY: too many came at once, try again.
// SLOT_RELEASED: the release was here first.
enum class Refusal { SLOT_FULL, SLOT_BUSY, SLOT_CLOSED, SLOT_NOT_FOUND, SLOT_STARTED, SLOT_RELEASED };
BOOST_DESCRIBE_ENUM(Refusal, SLOT_FULL, SLOT_BUSY, SLOT_CLOSED, SLOT_NOT_FOUND, SLOT_STARTED, SLOT_RELEASED)

struct SlotReserveFailed {
  std::string booking_id, slot_id;
  Refusal code{};
};
BOOST_DESCRIBE_STRUCT(SlotReserveFailed, (), (booking_id, slot_id, code))

// `players` is what became free: none where nothing was reserved.
struct SlotReleased {
  std::string booking_id, slot_id;
  std::int64_t players = 0;
};
BOOST_DESCRIBE_STRUCT(SlotReleased, (), (booking_id, slot_id, players))

struct Money {
  std::int64_t amount = 0;  // minor units
  std::string currency;
};
BOOST_DESCRIBE_STRUCT(Money, (), (amount, currency))

struct Reason {
  std::string code, message;
};
BOOST_DESCRIBE_STRUCT(Reason, (), (code, message))

struct Refund {
  std::int64_t percent = 0, amount = 0;
  std::string currency;
};
BOOST_DESCRIBE_STRUCT(Refund, (), (percent, amount, currency))

// What a customer should hear of.
struct BookingNews {
  std::string booking_id, number, customer, slot_id;
  std::int64_t players = 0;
  skald::Time starts_at{};
  Money price;
  std::optional<Reason> reason;
  std::optional<Refund> refund;
};
BOOST_DESCRIBE_STRUCT(BookingNews, (),
                      (booking_id, number, customer, slot_id, players, starts_at, price, reason, refund))

}  // namespace golf
