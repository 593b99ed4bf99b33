// W3C trace context: "00-<trace id>-<span id>-<flags>".
#pragma once

#include <string>
#include <string_view>

#include "skald/env.h"

namespace skald::http {

bool is_traceparent(std::string_view text);

// The context of our own work: a new span in the caller's trace, or in a new
// trace where what came is absent or not valid.
std::string continue_trace(std::string_view incoming, Random& random);

// The 32 digits that name the trace; `traceparent` is a valid one.
std::string_view trace_id(std::string_view traceparent);

}  // namespace skald::http
