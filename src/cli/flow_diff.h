// skald flow diff
#pragma once

#include <iosfwd>
#include <string>

#include "cli/api.h"
#include "cli/arguments.h"
#include "cli/json_view.h"

namespace skald::cli {

// The server's answer, with the `name` of each git beside its id.
std::string diff_of(const Arguments& arguments, const Api& api);

struct DiffStyle {
  bool files_only = false;
  bool colours = false;
};
void print_diff(const JsonView& page, const DiffStyle& style, std::ostream& out);

}  // namespace skald::cli
