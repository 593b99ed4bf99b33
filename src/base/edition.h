// Envelopes between processes of two versions: each says which version wrote it, and where that matters, which one its
// reader needs at least.
//
//   {"post":3,"least":2,…}   written by version 3; whoever knows version 2 understands it
#pragma once

#include <string_view>

#include "skald/lenient_json.h"

namespace skald {

// Invalid (VERSION_TOO_NEW), with a sentence about `what`, where the object's member `least` is above `known`.
void must_be_readable(const boost::json::value& value, std::string_view what, int known);

template <Described T>
T read_edition(std::string_view text, std::string_view what, int known) {
  auto value = json::parse(text);
  must_be_readable(value, what, known);
  return json::read_lenient<T>(std::move(value));
}

}  // namespace skald
