// Errors as clients see them: RFC 9457 problem+json.
#pragma once

#include <exception>
#include <optional>
#include <string>
#include <string_view>

#include "skald/http.h"

namespace skald::http {

struct Problem {
  int status = 500;
  std::string code;    // stable, documented in docs/errors.md
  std::string detail;  // for a person; never internals
  std::optional<int> retry_after_seconds;
  std::string members = {};  // more of the body: the inside of a JSON object
};

// What an error of skald/error.h means to a client. Where it is the server's
// fault (5xx) the detail is a general one: the cause is for the log alone.
Problem problem_of(const std::exception& error);

// `request_id` becomes the instance; Retry-After and WWW-Authenticate are set
// where the status asks for them.
Response problem_response(const Problem& problem, std::string_view request_id);

// "Not Found" for 404; an empty text where there is none.
std::string_view status_title(int status);

}  // namespace skald::http
