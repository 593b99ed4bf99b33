#include "bus/nats/stream.h"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include "base/hash.h"
#include "base/text.h"
#include "skald/error.h"
#include "skald/json.h"

namespace skald {
namespace {

constexpr Duration kApiTimeout = 5s;

const boost::json::value* find(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const boost::json::object* inside = &object;
  const boost::json::value* found = nullptr;
  for (const std::string_view name : path) {
    if (inside == nullptr || (found = inside->if_contains(name)) == nullptr) return nullptr;
    inside = found->if_object();
  }
  return found;
}

std::string create_request(const NatsStreamOptions& options) {
  const auto nanos = [](auto duration) { return std::chrono::nanoseconds(duration).count(); };
  boost::json::object config;
  config["name"] = nats_stream(options.topic);
  config["subjects"] = boost::json::array{nats_all_subjects(options.topic)};
  // Several services may consume, so nothing goes away by being consumed.
  config["retention"] = "limits";
  config["storage"] = "file";
  config["discard"] = "old";
  for (const char* unlimited : {"max_consumers", "max_msgs", "max_bytes", "max_msg_size", "max_msgs_per_subject"})
    config[unlimited] = -1;
  config["max_age"] = nanos(options.age_max);
  config["duplicate_window"] = nanos(options.dedupe_window);
  config["num_replicas"] = options.replicas;
  return boost::json::serialize(config);
}

NatsStreamState judge(const NatsStreamOptions& options, const boost::json::object& info) {
  const std::string name = nats_stream(options.topic), wanted = nats_all_subjects(options.topic);
  const auto unusable = [&](const std::string& why) {
    return NatsStreamState{.error = "the NATS stream " + name + " cannot be used: " + why};
  };
  bool ours = false;
  if (const auto* subjects = find(info, {"config", "subjects"}); subjects != nullptr && subjects->is_array())
    for (const auto& subject : subjects->get_array())
      ours = ours || (subject.is_string() && (subject.get_string() == wanted || subject.get_string() == "skald.>" ||
                                              subject.get_string() == "skald." + options.topic + ".>"));
  if (!ours) return unusable("it does not take " + wanted + "; add that to its subjects");
  if (text_in(info, {"config", "retention"}) != "limits")
    return unusable("its retention is not 'limits', so one consumer would take messages from the others; make it anew");
  if (text_in(info, {"config", "storage"}) != "file")
    return unusable("it keeps messages in memory only; make it anew with file storage");
  return {.usable = true, .has_gaps = number_in(info, {"state", "num_deleted"}) > 0};
}

}  // namespace

bool ask_jetstream(NatsLink& link, const std::string& subject, std::string_view body, NatsApiDone done) {
  return link.request("$JS.API." + subject, {}, body, kApiTimeout, [done = std::move(done)](NatsReply reply) {
    done(read_jetstream(reply));
  }) == NatsLink::Sent::yes;
}

NatsApiAnswer read_jetstream(const NatsReply& reply) {
  NatsApiAnswer out;
  const auto failed = [&](int status, std::string why) {
    out.status = status;
    out.error = std::move(why);
    return std::move(out);
  };
  switch (reply.kind) {
    case NatsReply::Kind::nobody:
      return failed(503, "JetStream does not answer; start nats-server with --jetstream, and look for the stream");
    case NatsReply::Kind::silence: return failed(504, "JetStream gave no answer in time");
    case NatsReply::Kind::lost: return failed(504, "the connection to NATS broke before the answer");
    case NatsReply::Kind::denied:
      return failed(403, "the server does not let this user publish; allow its user skald.> and $JS.API.>");
    case NatsReply::Kind::answer: break;
  }
  try {
    const boost::json::value parsed = json::parse(reply.message.body());
    if (!parsed.is_object()) return failed(502, "JetStream answered something that is no object");
    out.body = parsed.get_object();
  } catch (const Invalid&) {
    return failed(502, "JetStream answered something that is not JSON");
  }
  if (!out.body.contains("error")) return out;
  out.error_code = static_cast<int>(number_in(out.body, {"error", "err_code"}));
  const auto status = static_cast<int>(number_in(out.body, {"error", "code"}));
  return failed(status == 0 ? 500 : status, cut_text(text_in(out.body, {"error", "description"}), 300));
}

std::uint64_t number_in(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const auto* found = find(object, path);
  if (found == nullptr) return 0;
  if (found->is_uint64()) return found->get_uint64();
  return found->is_int64() && found->get_int64() > 0 ? static_cast<std::uint64_t>(found->get_int64()) : 0;
}

std::string text_in(const boost::json::object& object, std::initializer_list<std::string_view> path) {
  const auto* found = find(object, path);
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : std::string();
}

// The headers come as one block of lines, in base64.
std::string stored_header(const boost::json::object& answer, std::string_view name) {
  const std::string line = "\r\n" + std::string(name) + ":";
  try {
    const std::string headers = base64_decode(text_in(answer, {"message", "hdrs"}));
    auto begin = headers.find(line);
    if (begin == headers.npos) return {};
    begin = headers.find_first_not_of(' ', begin + line.size());
    return headers.substr(begin, headers.find("\r\n", begin) - begin);
  } catch (const Malformed&) {
    return {};
  }
}

void check_stream_options(const NatsStreamOptions& options) {
  check_nats_name("the topic", options.topic);
  if (options.dedupe_window < 2min || options.age_max < options.dedupe_window || options.replicas < 1)
    throw Invalid("NATS_LIMIT",
                  "a NATS stream must know duplicates for 2 minutes at least, keep messages for longer than that, "
                  "and have one replica at least");
}

bool prepare_stream(NatsLink& link, const NatsStreamOptions& options, std::function<void(NatsStreamState)> done) {
  const std::string name = nats_stream(options.topic);
  return ask_jetstream(link, "STREAM.INFO." + name, "", [&link, options, name, done](NatsApiAnswer info) {
    if (info.status == 200) return done(judge(options, info.body));
    const auto failed = [done](const std::string& why) { done({.error = why}); };
    if (info.status != 404) return failed(info.error);
    const bool asked = ask_jetstream(link, "STREAM.CREATE." + name, create_request(options),
                                     [done, failed, name](NatsApiAnswer created) {
                                       if (created.status == 200) return done({.usable = true, .created = true});
                                       failed("the NATS stream " + name + " cannot be made: " + created.error);
                                     });
    if (!asked) failed("the connection to NATS broke");
  });
}

}  // namespace skald
