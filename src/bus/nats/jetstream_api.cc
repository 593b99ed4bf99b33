#include "bus/nats/jetstream_api.h"

#include "base/text.h"
#include "skald/error.h"
#include "skald/json.h"

namespace skald {
namespace {

constexpr Duration kApiTimeout = 5s;

JetStreamAnswer failed(int status, std::string why) { return {.status = status, .error = std::move(why)}; }

// Being full is said with a 400 where it is the account that is.
bool says_full(std::int64_t error_code) {
  constexpr std::int64_t kAccountResourcesExceeded = 10002;
  return error_code == kAccountResourcesExceeded;
}

}  // namespace

void ask_jetstream(NatsLink& link, const std::string& subject, std::string_view body,
                   std::function<void(const JetStreamAnswer&)> done) {
  const auto sent =
      link.request(subject, {}, body, kApiTimeout, [done](const NatsReply& reply) { done(read_jetstream(reply)); });
  if (sent != NatsLink::Sent::yes) done(failed(504, "the connection to NATS broke"));
}

JetStreamAnswer read_jetstream(const NatsReply& reply) {
  switch (reply.kind) {
    case NatsReply::Kind::nobody:
      return failed(503, "JetStream does not answer; start nats-server with --jetstream, and look for the stream");
    case NatsReply::Kind::silence: return failed(504, "JetStream gave no answer in time");
    case NatsReply::Kind::lost: return failed(504, "the connection to NATS broke before the answer");
    case NatsReply::Kind::denied:
      return failed(403,
                    "the NATS server does not let this user publish there; allow it in the server's configuration");
    case NatsReply::Kind::answer: break;
  }
  JetStreamAnswer out;
  try {
    const boost::json::value parsed = json::parse(reply.message.body());
    if (!parsed.is_object()) return failed(502, "JetStream answered something that is no object");
    out.body = parsed.get_object();
  } catch (const Invalid&) {
    return failed(502, "JetStream answered something that is not JSON");
  }
  if (!out.body.contains("error")) return out;
  const auto status = static_cast<int>(number_in(out.body, {"error", "code"}));
  const bool full = says_full(number_in(out.body, {"error", "err_code"}));
  return failed(full ? 503 : status == 0 ? 500 : status, cut_text(text_in(out.body, {"error", "description"}), 300));
}

const boost::json::value& value_in(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  static const boost::json::value nothing;
  const boost::json::object* inside = &object;
  const boost::json::value* found = &nothing;
  for (const std::string_view name : path) {
    found = inside == nullptr ? nullptr : inside->if_contains(name);
    if (found == nullptr) return nothing;
    inside = found->if_object();
  }
  return *found;
}

std::int64_t number_in(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const auto& found = value_in(object, path);
  return found.is_int64() ? found.get_int64() : 0;
}

std::string text_in(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const auto& found = value_in(object, path);
  return found.is_string() ? std::string(found.get_string()) : std::string();
}

Duration duration_in(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  return std::chrono::duration_cast<Duration>(std::chrono::nanoseconds(number_in(object, path)));
}

bool flag_in(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const auto& found = value_in(object, path);
  return found.is_bool() && found.get_bool();
}

}  // namespace skald
