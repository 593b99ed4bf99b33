#include "outbox/handling.h"

#include "env/seam.h"
#include "store/tables/inbox.h"

namespace skald::outbox {

using seam::Rule;

Message Handling::message_of(const Entry& entry) const {
  Message message{entry.event, entry.source.empty() ? options_.source : entry.source, entry.created_at, entry.attempts,
                  entry.out_of_order};
  if (!seam::holds(Rule::same_id_every_attempt)) message.event.id += "-" + std::to_string(entry.attempts);
  return message;
}

void Handling::call(Transaction& tx, const Consumer& consumer, const Message& message,
                    std::optional<Span>& span) const {
  const CrashNotes::Running running(notes_, kEventNote, message.event.id);
  span = begin_span(env_, message.event.traceparent, Span::Kind::consumer, {"handle ", message.event.type});
  if (!span) return consumer.handle(tx, message);
  span->attributes = {{"messaging.message.id", message.event.id},
                      {"skald.consumer", consumer.name},
                      {"skald.service", options_.source}};
  Message inside = message;
  inside.event.traceparent = span->traceparent();
  tx.set_traceparent(inside.event.traceparent);
  consumer.handle(tx, inside);
  tx.set_traceparent({});
  span->end = env_.clock.now();
}

void Handling::call_together(Transaction& tx, std::span<const Entry> entries, std::vector<Span>& spans) const {
  std::vector<std::string> consumers, ids;
  std::optional<Span> span;
  spans.clear();
  for (const Entry& entry : entries) {
    const Message message = message_of(entry);
    const bool untouched = entry.attempts == 0 && entry.crashes == 0 && !entry.out_of_order;
    for (const Consumer* consumer : routing_.plan(entry).consumers) {
      if (untouched) {
        consumers.push_back(consumer->name);
        ids.push_back(entry.id);
      } else if (!tables::inbox::record(tx, consumer->name, entry.id) && seam::holds(Rule::dedupe_checked)) {
        continue;
      }
      call(tx, *consumer, message, span);
      if (span) spans.push_back(std::move(*span));
    }
    routing_.settle(tx, entry, EntryStatus::COMPLETED);
  }
  tables::inbox::record_new(tx, consumers, ids);
}

void Handling::note_delivered(std::size_t count, Instant begun, std::span<const Span> spans) const {
  for (const Span& span : spans) env_.observer.span(span);
  if (count == 0) return;
  env_.observer.count("outbox_delivered_total", static_cast<std::int64_t>(count));
  env_.observer.timing("outbox_delivery_seconds", env_.clock.steady() - begun);
}

}  // namespace skald::outbox
