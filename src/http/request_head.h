// The head of a request: Beast takes it apart, and what it lets through though it could be read
// in two ways is refused here (RFC 9112, 6). For the session and the fuzzer alone, since it
// brings Beast along.
#pragma once

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <optional>

#include "http/problem.h"
#include "skald/http.h"

namespace skald::http {

using RequestParser = boost::beast::http::request_parser<boost::beast::http::string_body>;

// Why a head that the parser took must not be believed, if there is a reason. A body is framed
// by one Content-Length in digits, or in HTTP/1.1 by the Transfer-Encoding `chunked` and nothing
// else: whoever reads anything else differently from us sees other requests than we do. After
// such a head the connection is closed.
std::optional<Problem> framing_problem(const RequestParser& parser);

// Method, target and headers. Taken before the body is read: what a trailer says does not count.
void take_head(const RequestParser& parser, Request& request);

}  // namespace skald::http
