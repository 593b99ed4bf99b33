// Who gets events of a service by the post (skald/post.h), and how far the letters to each have come.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "skald/json.h"
#include "skald/time.h"

namespace skald {

// A service that wants events of this one.
struct Subscriber {
  std::string name;  // of the service
  std::vector<std::string> types;  // "slot.reserve", or "slot.*"
  enum class From { now, beginning } from = From::now;  // beginning: also what is still kept
};

struct SubscriberView {
  std::string name;
  std::vector<std::string> types;
  std::int64_t owed = 0;  // events that it is not known to have
  std::optional<Time> oldest;  // of those
  Time since{};
  std::string trouble;  // why nothing reaches it, as of its last answers; empty: all is well
};
BOOST_DESCRIBE_STRUCT(SubscriberView, (), (name, types, owed, oldest, since, trouble))

// How far a lane is.
struct LanePlace {
  std::int64_t number = 0;
  std::string chain = {};
  bool operator==(const LanePlace&) const = default;
};

}  // namespace skald
