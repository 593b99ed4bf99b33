// The stream of one topic: made where it is missing, looked at where it exists,
// never changed.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "bus/nats/link.h"

namespace skald {

struct NatsStreamOptions {
  std::string topic;
  // Consumers that are away for longer miss what was sent.
  std::chrono::hours age_max = std::chrono::hours(24 * 6);
  // A message sent again within it is stored once. Not below 2 minutes.
  std::chrono::seconds dedupe_window = 10min;
  int replicas = 1;
};

// An answer of JetStream's API.
struct NatsApiAnswer {
  boost::json::object body;
  int status = 200;    // as in HTTP; 503 also where nobody answers
  int error_code = 0;  // JetStream's own
  std::string error;   // a sentence where status is not 200
};

using NatsApiDone = std::function<void(NatsApiAnswer)>;

// Asks `$JS.API.SUBJECT`. False where it is not connected; then `done` is not called.
bool ask_jetstream(NatsLink& link, const std::string& subject, std::string_view body, NatsApiDone done);
NatsApiAnswer read_jetstream(const NatsReply& reply);

// A number or text somewhere inside of an answer ("state", "last_seq"); zero or empty where there is none.
std::uint64_t number_in(const boost::json::object& object, std::initializer_list<std::string_view> path);
std::string text_in(const boost::json::object& object, std::initializer_list<std::string_view> path);

// A header of what STREAM.MSG.GET gave; empty where it has none.
std::string stored_header(const boost::json::object& answer, std::string_view name);
inline std::string stored_message_id(const boost::json::object& answer) { return stored_header(answer, "Nats-Msg-Id"); }

struct NatsStreamState {
  bool usable = false;
  std::string error = {};  // a sentence that says what to do where it is not usable
  bool created = false;   // just now
  bool has_gaps = false;  // messages in its middle are missing
};

// Throws Invalid (NATS_NAME, NATS_LIMIT) for options that cannot work.
void check_stream_options(const NatsStreamOptions& options);

// Looks for the stream and makes it where it is missing. `done` is called once;
// false where it is not connected, and then never.
bool prepare_stream(NatsLink& link, const NatsStreamOptions& options, std::function<void(NatsStreamState)> done);

}  // namespace skald
