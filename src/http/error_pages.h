// The pages that a problem's `type` leads to: /docs/errors/{code}, and /docs/errors with all of
// them. Made of docs/errors.md, which is compiled in.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "skald/http.h"

namespace skald::http {

extern const std::string_view kErrorsDocument;  // docs/errors.md as it was built

struct ErrorCode {
  std::string_view code;
  std::string_view group;  // "Orders"
  std::string_view text;   // what it means, and what to do; in Markdown
};

// Those of the document's tables, in its order.
std::span<const ErrorCode> error_codes();

void add_error_pages(Router& router);

}  // namespace skald::http
