#include "runtime/story.h"

#include <ranges>

#include "store/tables/attempt.h"
#include "store/tables/inbox.h"
#include "store/tables/outbox.h"
#include "store/tables/subscriber_views.h"

namespace skald::runtime {
namespace {

constexpr std::size_t kEventsMax = 500;
constexpr int kSagasMax = 50;

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string numbered(int attempt) { return attempt > 1 ? " (attempt " + std::to_string(attempt) + ")" : ""; }

void add_saga(const SagaView& saga, StoryPart& out) {
  out.names.push_back(saga.id);
  if (saga.key) out.names.push_back(*saga.key);
  out.lines.push_back({saga.started_at, "saga", saga.type + " began", saga.id, {}});
  for (const StepView& step : saga.steps)
    out.lines.push_back({step.finished_at == Time{} ? step.started_at : step.finished_at, "saga",
                         saga.type + ", " + step.name + ": " + step.status + numbered(step.attempt), saga.id,
                         step.error});
  if (has_ended(saga.status) || saga.status == SagaStatus::NEEDS_HELP)
    out.lines.push_back({saga.finished_at.value_or(saga.started_at), "saga",
                         saga.type + " is " + std::string(enum_name(saga.status)), saga.id,
                         saga.error ? std::optional(saga.error->code + ": " + saga.error->message) : std::nullopt});
}

// What another service emitted is told by that service; here it arrived, and is handled.
void add_event(Transaction& tx, const Entry& entry, StoryPart& out) {
  const std::string& type = entry.event.type;
  const auto add = [&](Time at, const char* source, std::string what, const std::string& detail = {}) {
    out.lines.push_back({at, source, std::move(what), entry.id, unless_empty(detail)});
  };
  if (entry.source.empty()) add(entry.created_at, "outbox", type + " emitted");
  for (const auto& failed : tables::attempt::of(tx, entry.id))
    add(failed.at, "outbox", type + ": " + failed.outcome + numbered(failed.attempt), failed.error);
  const auto handled = tables::inbox::of(tx, entry.id);
  for (const auto& [consumer, at] : handled) add(at, "inbox", type + " handled by " + consumer);
  const auto deliveries = tables::subscriber::deliveries(tx, entry);
  for (const auto& one : deliveries)
    add(one.is_owed ? entry.updated_at : *one.since, "outbox", type + ": " + tables::subscriber::told(one),
        tables::subscriber::proof_of(one, entry.partition));
  switch (entry.status) {
    case EntryStatus::PENDING:
      if (entry.owed == 0) add(entry.updated_at, "outbox", type + " is PENDING", entry.last_error);
      break;
    case EntryStatus::COMPLETED:
      if (handled.empty() && (deliveries.empty() || entry.attempts > 0))
        add(entry.updated_at, "outbox", type + " delivered" + numbered(entry.attempts));
      break;
    case EntryStatus::DEAD_LETTER:
      add(entry.updated_at, "outbox", type + " went to the dead letters", entry.last_error);
      break;
    default: add(entry.updated_at, "outbox", type + " is " + std::string(enum_name(entry.status)), entry.last_error);
  }
}

}  // namespace

StoryPart tell(Transaction& tx, Sagas& sagas, const std::string& name) {
  StoryPart out;
  if (const auto saga = sagas.find(tx, name)) add_saga(*saga, out);
  for (const SagaView& saga : sagas.list(tx, {.status = {}, .type = {}, .key = name, .after = {}, .limit = kSagasMax}))
    if (saga.id != name) add_saga(saga, out);
  const auto events = tables::outbox::about(tx, name, kEventsMax);
  for (const Entry& entry : std::views::reverse(events)) add_event(tx, entry, out);
  return out;
}

}  // namespace skald::runtime
