#include "http/request_head.h"

#include <algorithm>
#include <iterator>

#include "http/host.h"

namespace skald::http {
namespace {

namespace beast = boost::beast::http;

Problem unclear_framing(const std::string& why) {
  return {400, "MALFORMED_REQUEST", "this is not HTTP/1.1: " + why, {}};
}

}  // namespace

std::optional<Problem> framing_problem(const RequestParser& parser) {
  const auto& message = parser.get();
  const auto codings = message.equal_range(beast::field::transfer_encoding);
  const auto lengths = message.equal_range(beast::field::content_length);
  const auto coding_count = std::distance(codings.first, codings.second);
  const auto length_count = std::distance(lengths.first, lengths.second);
  if (coding_count > 0) {
    if (message.version() < 11) return unclear_framing("HTTP/1.0 has no Transfer-Encoding");
    if (length_count > 0) return unclear_framing("it has both Transfer-Encoding and Content-Length");
    if (coding_count > 1 || lower_case(codings.first->value()) != "chunked")
      return unclear_framing("the only Transfer-Encoding that is taken is chunked");
  }
  if (length_count > 1) return unclear_framing("it has several Content-Lengths");
  if (length_count == 1 && !std::ranges::all_of(lengths.first->value(), [](char c) { return c >= '0' && c <= '9'; }))
    return unclear_framing("its Content-Length is not a number");
  return std::nullopt;
}

void take_head(const RequestParser& parser, Request& request) {
  const auto& message = parser.get();
  request.method = std::string(message.method_string());
  request.path = std::string(message.target());
  for (const auto& field : message) {
    auto [place, fresh] = request.headers.try_emplace(lower_case(field.name_string()), field.value());
    if (!fresh) place->second.append(", ").append(field.value());
  }
}

}  // namespace skald::http
