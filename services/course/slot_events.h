// The events that this service emits.
#pragma once

#include <string>

#include "golf/events.h"
#include "skald/database.h"

namespace course {

// An answer to a booking.
template <class T>
void answer(skald::Transaction& tx, std::string type, const T& payload, const std::string& traceparent) {
  tx.emit({.type = std::move(type),
           .key = payload.booking_id,
           .subject = payload.booking_id,
           .payload = skald::to_json(payload),
           .traceparent = traceparent});
}

// Feeds the copies that others keep of a slot: after every change of its version.
inline void tell_changed(skald::Transaction& tx, const golf::Slot& slot, const std::string& traceparent) {
  tx.emit({.type = "slot.changed",
           .key = slot.id,
           .subject = slot.id,
           .payload = skald::to_json(slot),
           .traceparent = traceparent});
}

}  // namespace course
