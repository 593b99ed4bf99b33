// What clients send and are shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "booking/record.h"
#include "golf/events.h"
#include "skald/schema.h"

namespace booking {

struct NewBooking {
  std::string slot_id;
  std::int64_t players = 0;
  std::optional<std::string> customer;  // admins book for others
};
BOOST_DESCRIBE_STRUCT(NewBooking, (), (slot_id, players, customer))
inline constexpr std::int64_t kPlayersMax = 100;

struct Cancellation {
  std::optional<std::string> reason;
};
BOOST_DESCRIBE_STRUCT(Cancellation, (), (reason))

struct BookingView {
  std::string id, number, slot_id, customer;
  std::int64_t players = 0;
  Status status{};
  std::optional<golf::Reason> reason;
  golf::Money price;
  std::optional<golf::Refund> refund;
  skald::Time starts_at{};
  std::string saga_id;
  skald::Time created_at{}, updated_at{};
};
BOOST_DESCRIBE_STRUCT(BookingView, (),
                      (id, number, slot_id, customer, players, status, reason, price, refund, starts_at, saga_id,
                       created_at, updated_at))

BookingView view_of(const Booking& booking);

}  // namespace booking

template <>
struct skald::Limits<booking::NewBooking> {
  static constexpr skald::MemberLimit of[] = {{"players", 1, booking::kPlayersMax}};
};
