// Bookings and their history as they are stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "skald/json.h"
#include "skald/row.h"

namespace booking {

enum class Status { PENDING, CONFIRMED, FAILED, CANCELLED, COMPLETED, NO_SHOW };
BOOST_DESCRIBE_ENUM(Status, PENDING, CONFIRMED, FAILED, CANCELLED, COMPLETED, NO_SHOW)

struct Booking {
  std::string id;      // its saga's too
  std::string number;  // "BK-7Q2M4X": what people say on the phone
  std::string slot_id, customer;
  std::int64_t players = 0;
  Status status = Status::PENDING;
  std::optional<std::string> reason_code, reason_message;
  std::int64_t amount = 0;  // minor units, for all players
  std::string currency;
  std::optional<std::int64_t> refund_percent, refund_amount;
  skald::Time starts_at{};
  bool release_sent = false;               // its seats were given back, or are not wanted any more
  std::optional<skald::Time> released_at;  // course has said so
  skald::Time created_at{}, updated_at{};
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Booking, (),
                      (id, number, slot_id, customer, players, status, reason_code, reason_message, amount, currency,
                       refund_percent, refund_amount, starts_at, release_sent, released_at, created_at, updated_at,
                       version))

// LATE_RESERVED: course had seats for it after it had ended. RELEASED: they are free again.
enum class Happening { CREATED, CONFIRMED, FAILED, CANCELLED, COMPLETED, NO_SHOW, LATE_RESERVED, RELEASED };
BOOST_DESCRIBE_ENUM(Happening, CREATED, CONFIRMED, FAILED, CANCELLED, COMPLETED, NO_SHOW, LATE_RESERVED, RELEASED)

// One per version of a booking.
struct History {
  std::string booking_id;
  std::int64_t seq = 0;
  Happening what{};
  std::string actor;
  std::optional<std::string> code, message;
  skald::Time at{};
};
BOOST_DESCRIBE_STRUCT(History, (), (booking_id, seq, what, actor, code, message, at))

}  // namespace booking

template <>
struct skald::Table<booking::Booking> {
  static constexpr std::string_view name = "booking_record", key = "id", resource = "booking";
};
template <>
struct skald::Table<booking::History> {
  static constexpr std::string_view name = "booking_history", key = "booking_id";
};
