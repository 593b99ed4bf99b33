#include "bus/nats/batch.h"

#include "base/hash.h"

namespace skald {

bool NatsBatch::add(const Message& message) {
  const std::string body = cloud_event(message);
  if (!ids_.empty() && (ids_.size() == kEventsMax || bodies_.size() + body.size() > kBytesMax)) return false;
  if (!ids_.empty()) bodies_ += ',';
  bodies_ += body;
  ids_.push_back(message.event.id);
  return true;
}

std::string NatsBatch::id() const {
  if (ids_.size() == 1) return ids_.front();
  std::string all;
  for (const std::string& id : ids_) all += id + '\n';
  return "batch-" + hex(sha256(all));
}

NatsLink::Headers NatsBatch::headers() const {
  if (ids_.size() == 1) return {{"Nats-Msg-Id", id()}, {"Content-Type", "application/cloudevents+json"}};
  return {
      {"Nats-Msg-Id", id()}, {"Content-Type", "application/cloudevents-batch+json"}, {kLastEventHeader, ids_.back()}};
}

std::string NatsBatch::body() const { return ids_.size() == 1 ? bodies_ : '[' + bodies_ + ']'; }

}  // namespace skald
