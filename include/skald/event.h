// An event: something that happened, told to others through the outbox.
// CloudEvents 1.0; `key` is its partitioning extension: events of one key are
// delivered in the order of their commits.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace skald {

struct Event {
  std::string id = {};           // unique for ever; drawn at emit() when empty
  std::string type = {};         // "donation.accepted"
  std::string key = {};          // the order's scope; one key never blocks another
  std::string subject = {};      // the business id it is about ("requestId")
  std::string payload = {};      // JSON, kept byte for byte as written here
  std::string traceparent = {};  // W3C trace context, may be empty

  bool operator==(const Event&) const = default;
};

// How the order of a key is spread over relays. Fixed for the life of a
// database: the number is part of the stored data.
inline constexpr int kPartitions = 64;
int partition_of(std::string_view key);

}  // namespace skald
