// What skald/http.h declares of requests and pages.
#include <charconv>

#include "base/hash.h"
#include "skald/http.h"

namespace skald {
namespace {

constexpr std::size_t kLimitMax = 200;
constexpr std::size_t kCursorBytesMax = 2048;

[[noreturn]] void refuse_cursor() {
  throw Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
}

}  // namespace

std::optional<std::string> Request::query_value(const std::string& name) const {
  const auto found = query.find(name);
  if (found == query.end()) return std::nullopt;
  return found->second;
}

std::string_view Request::header(std::string_view name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? std::string_view() : std::string_view(found->second);
}

Page Page::of(const Request& request) {
  Page page;
  if (const auto text = request.query_value("limit")) {
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), page.limit);
    if (error != std::errc() || end != text->data() + text->size() || page.limit < 1 || page.limit > kLimitMax)
      throw Invalid("BAD_LIMIT", "limit must be a number from 1 to " + std::to_string(kLimitMax));
  }
  page.cursor = request.query_value("cursor");
  if (page.cursor && page.cursor->size() > kCursorBytesMax) refuse_cursor();
  return page;
}

std::string Page::cursor_at(const std::vector<std::string>& position) { return base64url(to_json(position)); }

std::vector<std::string> Page::after(std::size_t fields) const {
  if (!cursor) return std::vector<std::string>(fields);
  std::vector<std::string> position;
  try {
    position = from_json<std::vector<std::string>>(base64_decode(*cursor));
  } catch (const Invalid&) {
    refuse_cursor();
  }
  if (position.size() != fields) refuse_cursor();
  return position;
}

}  // namespace skald
