// Looks at a stream before it is used (skald/jetstream.h): may it drop what nobody has read, and is it synced?
#pragma once

#include <boost/json/object.hpp>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bus/nats/jetstream_api.h"
#include "skald/jetstream.h"

namespace skald {

struct StreamLook {
  std::string why = {};  // a sentence where it is not to be used
  std::vector<std::string> subjects = {};
  Duration max_age{0};  // zero: none
};

// Throws Invalid (NATS_NAME, NATS_LIMIT) for options that cannot work.
void check_jetstream(const JetStream& wanted);

// Makes it where it is missing and that is wanted. `done` is called once, inside of the link's poll(), or at once where
// it is not connected. Both references outlive that.
void look_at_stream(NatsLink& link, const JetStream& wanted, std::function<void(const StreamLook&)> done);

// What look_at_stream() makes of the answer to STREAM.INFO.
StreamLook judge_stream(const JetStream& wanted, const boost::json::object& info, bool synced);

// Whether messages of `subject` come under `pattern` ("shop.*.placed", "shop.>").
bool covers_subject(std::string_view pattern, std::string_view subject);

// Says why something cannot be used: once, until it changes.
class Complaint {
 public:
  explicit Complaint(Observer& observer) : observer_(observer) {}
  void say(const std::string& why);
  void clear() { why_.clear(); }
  const std::string& why() const { return why_; }

 private:
  Observer& observer_;
  std::string why_;
};

}  // namespace skald
