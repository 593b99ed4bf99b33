// A notification as it is stored, sent and shown.
#pragma once

#include <string>

#include "skald/json.h"
#include "skald/row.h"

namespace notify {

inline constexpr std::size_t kIdMax = 64;  // of a booking

// In the order in which one may follow another.
enum class Kind { CONFIRMED, FAILED, CANCELLED };
BOOST_DESCRIBE_ENUM(Kind, CONFIRMED, FAILED, CANCELLED)

enum class Channel { webhook, log };
BOOST_DESCRIBE_ENUM(Channel, webhook, log)

// One per booking and kind: a customer hears of nothing twice.
struct Notification {
  std::string booking_id;
  Kind kind = Kind::CONFIRMED;
  std::string id, customer, text;
  Channel channel = Channel::log;
  skald::Time at{};
};
BOOST_DESCRIBE_STRUCT(Notification, (), (booking_id, kind, id, customer, text, channel, at))

// The payload of notification.sent.
struct Sent {
  std::string id, booking_id, customer;
  Kind kind = Kind::CONFIRMED;
  std::string text;
  skald::Time at{};
};
BOOST_DESCRIBE_STRUCT(Sent, (), (id, booking_id, customer, kind, text, at))

struct NotificationView {
  std::string id, booking_id;
  Kind kind = Kind::CONFIRMED;
  std::string text;
  Channel channel = Channel::log;
  skald::Time at{};
};
BOOST_DESCRIBE_STRUCT(NotificationView, (), (id, booking_id, kind, text, channel, at))

}  // namespace notify

template <>
struct skald::Table<notify::Notification> {
  static constexpr std::string_view name = "notify_notification", key = "id";
};
