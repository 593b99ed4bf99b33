// How commands talk to people: aligned tables, and JSON for programs.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace skald::cli {

// What strangers wrote must not steer a terminal: control characters become '?',
// what is no UTF-8 too.
std::string printable(std::string_view text);

// Columns as wide as their widest cell; the last one is not padded. A line of
// headers first, then the rows; cells are made printable, and cut at 60 characters.
void print_table(std::ostream& out, const std::vector<std::string>& headers,
                 const std::vector<std::vector<std::string>>& rows);

// One "name  value" line each, empty values left out.
void print_fields(std::ostream& out, const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace skald::cli
