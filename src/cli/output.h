// How commands talk to people: aligned tables, and JSON for programs.
#pragma once

#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

namespace skald::cli {

// What strangers wrote must not steer a terminal, so everything that a command writes goes
// through here: control characters (skald/controls.h) become escapes that can be seen, but for
// those in `kept`, and what is no UTF-8 becomes '?'.
std::string printable(std::string_view text, std::string_view kept = {});

// A JSON text on a line of its own; the same value, spelled so that it is printable.
void print_json(std::ostream& out, std::string_view json);

// What becomes of a cell of more than 60 characters.
enum class Long {
  cut,
  wrap,  // goes on below, in its column; broken at spaces where there are any
};

// Columns as wide as their widest cell; the last one is not padded. A line of
// headers first, then the rows; cells are made printable.
void print_table(std::ostream& out, const std::vector<std::string>& headers,
                 const std::vector<std::vector<std::string>>& rows, Long what = Long::cut);

// One "name  value" line each, empty values left out.
void print_fields(std::ostream& out, const std::vector<std::pair<std::string, std::string>>& fields);

}  // namespace skald::cli
