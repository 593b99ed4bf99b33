// An answer of the API as a command shows it: members as text.
#pragma once

#include <boost/json/value.hpp>
#include <initializer_list>
#include <iosfwd>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/arguments.h"

namespace skald::cli {

class JsonView {
 public:
  // Malformed where it is no JSON.
  explicit JsonView(std::string_view text);
  explicit JsonView(boost::json::value value) : value_(std::move(value)) {}

  // A member as text: strings without quotes, other things as JSON; empty where
  // there is none.
  std::string operator[](std::string_view name) const;
  double number(std::string_view name) const;  // 0 where there is none
  JsonView member(std::string_view name) const;  // one without members where there is none
  std::vector<JsonView> items(std::string_view name = "items") const;
  std::vector<std::string> texts(std::string_view name) const;  // of an array of texts; others in it are left out
  std::vector<std::pair<std::string, std::string>> fields(std::initializer_list<std::string_view> names) const;

 private:
  const boost::json::value* find(std::string_view name) const;
  boost::json::value value_;
};

// Those of the flags that were given, as a query.
std::map<std::string, std::string> given(const Arguments& arguments, std::initializer_list<std::string_view> names);

// How to go on where a list was cut.
void print_more(std::ostream& out, const JsonView& page);

}  // namespace skald::cli
