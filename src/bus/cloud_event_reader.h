// CloudEvents that came in, as the Message that cloud_event() was given.
#pragma once

#include <string_view>
#include <vector>

#include "skald/bus.h"

namespace skald {

// The envelope in structured JSON form; members in any order, unknown ones
// ignored, the bytes of `data` kept as they are. Throws Malformed where it is not
// JSON, Invalid where it is no CloudEvent 1.0 that Skald could carry.
Message read_cloud_event(std::string_view text);

// The texts of the events in a message: of a batch (a JSON array of them) each, of
// anything else that itself. Throws Malformed for an array that does not end.
std::vector<std::string_view> split_cloud_events(std::string_view text);

}  // namespace skald
