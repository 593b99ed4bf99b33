#include "bus/nats/error_header.h"

#include <span>

#include "base/text.h"
#include "skald/error.h"

namespace skald {
namespace {

template <class... Es>
struct Family {
  static bool write(const Error& error, std::string& kind, std::span<const std::string_view> names) {
    std::size_t at = 0;
    return ((dynamic_cast<const Es*>(&error) != nullptr ? (kind = names[at], true) : (++at, false)) || ...);
  }
  static std::exception_ptr read(std::string_view kind, const std::string& code, const std::string& text,
                                 std::span<const std::string_view> names) {
    std::size_t at = 0;
    std::exception_ptr out;
    ((names[at++] == kind ? void(out = std::make_exception_ptr(Es(code, text))) : void()), ...);
    return out;
  }
};

// The derived before its base.
using Known = Family<Conflict, Busy, Stale, LockTimeout, Refused, Unavailable, CommitUnknown, Malformed, Invalid,
                     NotFound, Unauthorized, Forbidden>;
constexpr std::string_view kNames[] = {"Conflict", "Busy",        "Stale",         "LockTimeout",
                                       "Refused",  "Unavailable", "CommitUnknown", "Malformed",
                                       "Invalid",  "NotFound",    "Unauthorized",  "Forbidden"};

}  // namespace

NatsError write_nats_error() {
  try {
    throw;
  } catch (const Error& error) {
    std::string kind;
    if (Known::write(error, kind, kNames)) return {kind + " " + error.code(), cut_text(error.what(), 2000)};
  } catch (const std::exception&) {}
  return {"Unknown NATS_HANDLER", "the other service failed in an unexpected way; its log tells how"};
}

std::exception_ptr read_nats_error(std::string_view header, std::string_view text) {
  const std::size_t space = header.find(' ');
  const std::string code(space == header.npos ? "NATS_HANDLER" : header.substr(space + 1));
  auto known = Known::read(header.substr(0, space), code, std::string(text), kNames);
  return known ? known : std::make_exception_ptr(CommitUnknown(code, std::string(text)));
}

}  // namespace skald
