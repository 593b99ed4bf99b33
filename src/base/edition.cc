#include "base/edition.h"

namespace skald {

void must_be_readable(const boost::json::value& value, std::string_view what, int known) {
  const auto* object = value.if_object();
  const auto* least = object == nullptr ? nullptr : object->if_contains("least");
  if (least == nullptr) return;
  const auto wanted = json::read<std::int64_t>(*least, "/least");
  if (wanted > known)
    throw Invalid("VERSION_TOO_NEW", std::string(what) + " needs a reader that knows version " +
                                         std::to_string(wanted) + " of it, and this program knows " +
                                         std::to_string(known) + ": upgrade this program; nothing is lost meanwhile");
}

}  // namespace skald
