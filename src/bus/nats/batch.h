// Events of one partition as one message of the stream: taken and kept together or not at
// all. One alone goes as its CloudEvents envelope, under its own id; several as a CloudEvents
// batch, under an id of which events they are and in which order. (Not of the last one alone:
// the server would drop a batch with another event in it as a duplicate.)
#pragma once

#include <string>
#include <vector>

#include "bus/nats/link.h"
#include "skald/bus.h"

namespace skald {

// In the headers of a batch: the id of its last event.
inline constexpr char kLastEventHeader[] = "Skald-Last-Event";

class NatsBatch {
 public:
  static constexpr std::size_t kEventsMax = 64, kBytesMax = 128 * 1024;

  // False: there is no room for it. There always is for the first.
  bool add(const Message& message);

  std::size_t size() const { return ids_.size(); }
  std::string id() const;
  NatsLink::Headers headers() const;
  std::string body() const;

 private:
  std::vector<std::string> ids_;
  std::string bodies_;  // with commas between them
};

}  // namespace skald
