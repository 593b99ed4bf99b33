// CloudEvents that came in, as the Message that cloud_event() was given.
#pragma once

#include <string_view>

#include "skald/bus.h"

namespace skald {

// The envelope in structured JSON form; members in any order, unknown ones
// ignored, the bytes of `data` kept as they are. Throws Malformed where it is not
// JSON, Invalid where it is no CloudEvent 1.0 that Skald could carry.
Message read_cloud_event(std::string_view text);

}  // namespace skald
