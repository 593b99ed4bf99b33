#include "skald/bus.h"
#include "skald/json.h"

namespace skald {
namespace {

void member(std::string& out, std::string_view name, std::string_view value) {
  out += '"';
  out += name;
  out += "\":";
  json::write_string(out, value);
  out += ',';
}

void member_if_any(std::string& out, std::string_view name, std::string_view value) {
  if (!value.empty()) member(out, name, value);
}

}  // namespace

// Everything here is the same at every attempt, so that a receiver may compare
// bytes: Message::attempt stays out.
std::string cloud_event(const Message& message) {
  const Event& event = message.event;
  std::string out;
  out.reserve(event.payload.size() + event.id.size() + event.type.size() + event.key.size() + event.subject.size() +
              message.source.size() + 256);
  out += '{';
  member(out, "specversion", "1.0");
  member(out, "id", event.id);
  member(out, "source", message.source);
  member(out, "type", event.type);
  member_if_any(out, "subject", event.subject);
  member(out, "time", format_time(message.time));
  member(out, "datacontenttype", "application/json");
  member_if_any(out, "partitionkey", event.key);
  member_if_any(out, "traceparent", event.traceparent);
  if (message.out_of_order) out += "\"outoforder\":true,";
  if (event.payload.empty()) {
    out.back() = '}';  // an event without data is legal, an empty `data` is not JSON
    return out;
  }
  out += "\"data\":";
  out += event.payload;
  out += '}';
  return out;
}

}  // namespace skald
