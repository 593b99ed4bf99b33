#include "bus/cloud_event_reader.h"

#include <boost/json/parse.hpp>

#include "skald/error.h"

namespace skald {
namespace {

constexpr std::string_view kSpace = " \t\r\n";

// Behind the string that begins at `at`.
std::size_t skip_string(std::string_view text, std::size_t at) {
  for (++at; text[at] != '"'; ++at)
    if (text[at] == '\\') ++at;
  return at + 1;
}

// Behind the value that begins at `at`.
std::size_t skip_value(std::string_view text, std::size_t at) {
  if (text[at] == '"') return skip_string(text, at);
  if (text[at] != '{' && text[at] != '[') return text.find_first_of(",}] \t\r\n", at);
  for (int depth = 0;;) {
    if (text[at] == '"') {
      at = skip_string(text, at);
      continue;
    }
    depth += text[at] == '{' || text[at] == '[';
    depth -= text[at] == '}' || text[at] == ']';
    ++at;
    if (depth == 0) return at;
  }
}

// The bytes of the object's member `data`. `text` has been parsed: it is JSON, so
// nothing here runs past its end. A name spelled with escapes is not found. Of a member
// that is there twice readers take either one, so it has `members`, each once.
std::string_view raw_data(std::string_view text, std::size_t members) {
  std::string_view found;
  std::size_t seen = 0;
  std::size_t at = text.find('{') + 1;
  for (;;) {
    at = text.find_first_not_of(kSpace, at);
    if (text[at] == '}') break;
    if (text[at] == ',') at = text.find_first_not_of(kSpace, at + 1);
    const std::size_t name_end = skip_string(text, at);
    const std::string_view name = text.substr(at, name_end - at);
    const std::size_t begin = text.find_first_not_of(kSpace, text.find(':', name_end) + 1);
    at = skip_value(text, begin);
    if (name == "\"data\"") found = text.substr(begin, at - begin);
    ++seen;
  }
  if (seen != members) throw Invalid("NOT_A_CLOUD_EVENT", "one of its members is there twice");
  return found;
}

std::string member(const boost::json::object& object, const char* name, bool needed) {
  const auto* found = object.if_contains(name);
  if (found != nullptr && found->is_string()) return std::string(found->get_string());
  if (found != nullptr || needed)
    throw Invalid("NOT_A_CLOUD_EVENT", std::string("its ") + name + (found ? " is not text" : " is missing"));
  return {};
}

}  // namespace

Message read_cloud_event(std::string_view text) {
  boost::json::parse_options limits;
  limits.max_depth = 128;
  boost::system::error_code error;
  const boost::json::value parsed = boost::json::parse(text, error, {}, limits);
  if (error) throw Malformed("NOT_JSON", "it is not JSON: " + error.message());
  if (!parsed.is_object()) throw Invalid("NOT_A_CLOUD_EVENT", "it is JSON but no object");
  const boost::json::object& object = parsed.get_object();
  if (!member(object, "specversion", true).starts_with("1."))  // each 1.x only adds
    throw Invalid("NOT_A_CLOUD_EVENT", "it is not of CloudEvents version 1.0 or a later 1.x");
  Message message;
  message.event.id = member(object, "id", true);
  message.event.type = member(object, "type", true);
  message.source = member(object, "source", true);
  message.event.subject = member(object, "subject", false);
  message.event.key = member(object, "partitionkey", false);
  message.event.traceparent = member(object, "traceparent", false);
  message.time = parse_time(member(object, "time", true));
  if (message.event.id.empty() || message.event.type.empty())
    throw Invalid("NOT_A_CLOUD_EVENT", "its id or its type is empty");
  if (object.contains("data_base64"))
    throw Invalid("NOT_A_CLOUD_EVENT", "its data is binary, and only JSON is carried");
  const auto* late = object.if_contains("outoforder");
  message.out_of_order = late != nullptr && late->is_bool() && late->get_bool();
  message.event.payload = raw_data(text, object.size());
  if (!object.contains("data")) return message;
  if (message.event.payload.empty()) throw Invalid("NOT_A_CLOUD_EVENT", "its data cannot be found");
  return message;
}

std::vector<std::string_view> split_cloud_events(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos || text[first] != '[') return {text};
  std::vector<std::string_view> out;
  std::size_t begin = first + 1;
  bool in_string = false;
  for (std::size_t at = begin, depth = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (in_string) {
      if (c == '\\') ++at;
      else in_string = c != '"';
      continue;
    }
    in_string = c == '"';
    if (depth == 0 && (c == ',' || c == ']')) {
      const std::string_view one = text.substr(begin, at - begin);
      if (c == ',' || !out.empty() || one.find_first_not_of(kSpace) != one.npos) out.push_back(one);
      if (c == ']') return out;
      begin = at + 1;
    }
    if (c == '{' || c == '[') ++depth;
    else if ((c == '}' || c == ']') && depth > 0) --depth;
  }
  throw Malformed("NOT_JSON", "it is a batch of events that does not end");
}

}  // namespace skald
