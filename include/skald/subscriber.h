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
  std::int64_t owed = 0;  // events that it is not known to have, counted up to 10,000
  bool at_least = false;  // there are more than were counted
  std::optional<Time> oldest;  // of those
  std::optional<Time> last_confirmed_at;
  Time since{};
  std::optional<std::string> trouble;  // why nothing reaches it, as of the answers that this process has had
  std::optional<Time> trouble_since;
  bool configured = false;  // this process asks for it; for one that no process asks for the backlog grows for ever
};
BOOST_DESCRIBE_STRUCT(SubscriberView, (),
                      (name, types, owed, at_least, oldest, last_confirmed_at, since, trouble, trouble_since,
                       configured))

// One partition's way to a subscriber.
struct LaneView {
  int partition = 0;
  std::int64_t last = 0;  // the number of the last letter that the subscriber is known to have
  std::optional<Time> last_confirmed_at;
  std::int64_t owed = 0;  // counted up to 1,000
  bool at_least = false;
  std::optional<Time> oldest;
};
BOOST_DESCRIBE_STRUCT(LaneView, (), (partition, last, last_confirmed_at, owed, at_least, oldest))

struct SubscriberDetail : SubscriberView {
  std::vector<LaneView> lanes;  // those that have sent a letter, or owe one
};
BOOST_DESCRIBE_STRUCT(SubscriberDetail, (SubscriberView), (lanes))

// How far a lane is.
struct LanePlace {
  std::int64_t number = 0;
  std::string chain = {};
  bool operator==(const LanePlace&) const = default;
};

}  // namespace skald
