// The API of JetStream as questions over a link: the NATS library's own calls wait for their answers, and everything
// here happens inside of a poll() that must not block.
#pragma once

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>

#include "bus/nats/link.h"

namespace skald {

struct JetStreamAnswer {
  boost::json::object body = {};
  int status = 200;        // as in HTTP; 503 also where nobody answers, 504 where none came in time
  std::string error = {};  // a sentence where status is not 200

  bool ok() const { return status == 200; }
};

// Asks `subject` ("$JS.API.STREAM.INFO.SHOP"). `done` is called once, also where it is not connected: then at once.
void ask_jetstream(NatsLink& link, const std::string& subject, std::string_view body,
                   std::function<void(const JetStreamAnswer&)> done);
JetStreamAnswer read_jetstream(const NatsReply& reply);

// Something inside of an answer ({"state", "last_seq"}); null, zero or empty where there is none.
const boost::json::value& value_in(const boost::json::object& object, std::initializer_list<std::string_view> path);
std::int64_t number_in(const boost::json::object& object, std::initializer_list<std::string_view> path);
std::string text_in(const boost::json::object& object, std::initializer_list<std::string_view> path);
Duration duration_in(const boost::json::object& object, std::initializer_list<std::string_view> path);
bool flag_in(const boost::json::object& object, std::initializer_list<std::string_view> path);

// How JetStream writes durations.
inline std::int64_t nanos(Duration duration) { return std::chrono::nanoseconds(duration).count(); }

}  // namespace skald
