// From a booking's event to the customer.
#pragma once

#include <string_view>

#include "notify/record.h"
#include "skald/bus.h"
#include "skald/database.h"

namespace notify {

inline constexpr std::string_view kSent = "notification.sent";

// Writes the notification that the event is for, and with it what carries it out. An event
// of a kind that the booking has a notification of is a duplicate; one of another type is
// nothing to tell. Invalid where it cannot be read.
void tell(skald::Env env, Channel channel, skald::Transaction& tx, const skald::Message& message);

}  // namespace notify
