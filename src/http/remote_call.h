// A request that another process answers by its own routes, and the answer: as JSON text, for
// whatever carries it. The process that asks vouches for the caller. Both sides may be of different
// versions: members that are not known are passed over, and who must not be misunderstood says which version its
// reader needs (base/edition.h). The body inside is a client's, and read as strictly as any.
#pragma once

#include <string>
#include <string_view>

#include "skald/http.h"

namespace skald::http {

// A service that asks another makes a request that went through no routes: it says its trace as
// clients do.
std::string_view trace_of(const Request& request);

// In the trace context of whoever asks. Malformed where it is not text.
std::string write_call(const Request& request, std::string_view traceparent);
Request read_call(std::string_view text);  // Malformed, Invalid

std::string write_answer(const Response& response);
Response read_answer(std::string_view text);  // Malformed, Invalid

}  // namespace skald::http
