#include "cli/json_view.h"

#include <boost/json/serialize.hpp>
#include <ostream>

#include "cli/output.h"
#include "skald/json.h"

namespace skald::cli {

JsonView::JsonView(std::string_view text) : value_(json::parse(text)) {}

const boost::json::value* JsonView::find(std::string_view name) const {
  return value_.is_object() ? value_.get_object().if_contains(name) : nullptr;
}

std::string JsonView::operator[](std::string_view name) const {
  const auto* found = find(name);
  if (found == nullptr || found->is_null()) return "";
  if (found->is_string()) return std::string(found->get_string());
  if (found->is_double()) return std::to_string(found->get_double());
  return boost::json::serialize(*found);
}

double JsonView::number(std::string_view name) const {
  const auto* found = find(name);
  return found != nullptr && found->is_number() ? found->to_number<double>() : 0;
}

JsonView JsonView::member(std::string_view name) const {
  const auto* found = find(name);
  return JsonView(found != nullptr ? *found : boost::json::value());
}

std::vector<JsonView> JsonView::items(std::string_view name) const {
  std::vector<JsonView> out;
  if (const auto* found = find(name); found != nullptr && found->is_array())
    for (const auto& item : found->get_array()) out.emplace_back(item);
  return out;
}

std::vector<std::string> JsonView::texts(std::string_view name) const {
  std::vector<std::string> out;
  if (const auto* found = find(name); found != nullptr && found->is_array())
    for (const auto& item : found->get_array())
      if (item.is_string()) out.emplace_back(item.get_string());
  return out;
}

std::vector<std::pair<std::string, std::string>> JsonView::fields(std::initializer_list<std::string_view> names) const {
  std::vector<std::pair<std::string, std::string>> out;
  for (const auto name : names) out.emplace_back(std::string(name), (*this)[name]);
  return out;
}

std::map<std::string, std::string> given(const Arguments& arguments, std::initializer_list<std::string_view> names) {
  std::map<std::string, std::string> out;
  for (const auto name : names)
    if (const auto found = arguments.flags.find(name); found != arguments.flags.end())
      out.emplace(found->first, found->second);
  return out;
}

void print_more(std::ostream& out, const JsonView& page) {
  if (const std::string cursor = page["nextCursor"]; !cursor.empty())
    out << "\nthere is more: --cursor " << printable(cursor) << '\n';
}

}  // namespace skald::cli
