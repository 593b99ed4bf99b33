// A request that another process answers by its own routes, and the answer: as JSON text, for
// whatever carries it. The process that asks vouches for the caller. Both sides read strictly:
// a member more or less is another format, and needs another subject to travel on.
#pragma once

#include <string>
#include <string_view>

#include "skald/http.h"

namespace skald::http {

std::string write_call(const Request& request);  // Malformed where it is not text
Request read_call(std::string_view text);  // Malformed, Invalid

std::string write_answer(const Response& response);
Response read_answer(std::string_view text);  // Malformed, Invalid

}  // namespace skald::http
