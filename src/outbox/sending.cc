#include "outbox/sending.h"

#include "base/hash.h"

namespace skald::outbox {
namespace {

std::string sending_id(const Entry& entry) { return span_digits(hash64(unambiguous({"skald-send", entry.id}))); }

}  // namespace

Message outgoing(const Env& env, const Handling& handling, const Entry& entry) {
  Message message = handling.message_of(entry);
  std::string& trace = message.event.traceparent;
  if (!trace.empty() && env.observer.traces() && is_sampled(trace)) trace.replace(36, 16, sending_id(entry));
  return message;
}

std::optional<Span> begin_sending(const Env& env, const Entry& entry) {
  return begin_span(env, entry.event.traceparent, Span::Kind::producer, {"send ", entry.event.type});
}

void end_sending(const Env& env, Span& span, const Entry& entry, const std::string& service, const Outcome& outcome) {
  span.attributes = {
      {"messaging.message.id", entry.id}, {"skald.service", service}, {"skald.attempt", std::int64_t{entry.attempts}}};
  if (outcome.verdict != Verdict::delivered) return end_failed_span(env, span, outcome.error);
  span.span_id = sending_id(entry);
  end_span(env, span);
}

}  // namespace skald::outbox
