// GET /api/outbox and /api/outbox/{id}.
#include "http/engine_paths.h"
#include "store/tables/attempt.h"
#include "store/tables/outbox.h"
#include "store/tables/subscriber_views.h"

namespace skald::http {
namespace {

struct EntryView {
  std::string id, type, key;
  EntryStatus status{};
  int retry_count = 0;
  std::optional<Time> next_retry_at;
  std::optional<std::string> last_error;
  std::string content_hash;
  Time created_at{};
};
BOOST_DESCRIBE_STRUCT(EntryView, (),
                      (id, type, key, status, retry_count, next_retry_at, last_error, content_hash, created_at))

struct AttemptView {
  int attempt = 0;
  Time at{};
  std::string worker, outcome;
  double seconds = 0;
  std::optional<std::string> error;
};
BOOST_DESCRIBE_STRUCT(AttemptView, (), (attempt, at, worker, outcome, seconds, error))

// To another service by the post: whether it has it, and how that is known.
struct DeliveryView {
  std::string subscriber;
  bool owed = false;          // with `since`: again
  std::optional<Time> since;  // it has confirmed it
  std::optional<std::int64_t> letter;  // none: it was found there when what both have was compared
  int partition = 0;
};
BOOST_DESCRIBE_STRUCT(DeliveryView, (), (subscriber, owed, since, letter, partition))

struct EntryDetail {
  std::string id, type, key, subject;
  EntryStatus status{};
  int retry_count = 0, max_retries = 0;
  std::optional<Time> next_retry_at;
  std::optional<std::string> last_error;
  std::string content_hash;
  RawJson payload;
  std::optional<std::string> locked_by;
  std::optional<Time> locked_at;
  bool out_of_order = false;
  std::int64_t version = 0;
  Time created_at{}, updated_at{};
  std::vector<AttemptView> attempts;
  std::vector<DeliveryView> deliveries;
};
BOOST_DESCRIBE_STRUCT(EntryDetail, (),
                      (id, type, key, subject, status, retry_count, max_retries, next_retry_at, last_error,
                       content_hash, payload, locked_by, locked_at, out_of_order, version, created_at, updated_at,
                       attempts, deliveries))

std::optional<Time> unless_zero(Time time) { return time == Time{} ? std::nullopt : std::optional(time); }
std::optional<Time> next_retry(const Entry& e) {
  return e.status == EntryStatus::FAILED ? std::optional(e.next_retry_at) : std::nullopt;
}
double seconds(Duration took) { return std::chrono::duration<double>(took).count(); }

EntryView view_of(const Entry& e) {
  return {
      e.id,           e.event.type, e.event.key, e.status, e.retry_count(), next_retry(e), unless_empty(e.last_error),
      e.content_hash, e.created_at};
}

EntryDetail detail_of(Transaction& tx, const Entry& e) {
  EntryDetail out{.id = e.id,
                  .type = e.event.type,
                  .key = e.event.key,
                  .subject = e.event.subject,
                  .status = e.status,
                  .retry_count = e.retry_count(),
                  .max_retries = e.retries_max,
                  .next_retry_at = next_retry(e),
                  .last_error = unless_empty(e.last_error),
                  .content_hash = e.content_hash,
                  .payload = shown_payload(e.event.payload),
                  .locked_by = unless_empty(e.locked_by),
                  .locked_at = unless_zero(e.locked_at),
                  .out_of_order = e.out_of_order,
                  .version = e.version,
                  .created_at = e.created_at,
                  .updated_at = e.updated_at,
                  .attempts = {},
                  .deliveries = {}};
  for (const auto& a : tables::attempt::of(tx, e.id))
    out.attempts.push_back({a.attempt, a.at, a.worker, a.outcome, seconds(a.took), unless_empty(a.error)});
  for (const auto& d : tables::subscriber::deliveries(tx, e))
    out.deliveries.push_back(
        {d.subscriber, d.is_owed, d.since, d.letter == 0 ? std::nullopt : std::optional(d.letter), e.partition});
  // The attempt that succeeded is told by the entry itself. What is for subscribers alone has none.
  if (e.status == EntryStatus::COMPLETED && (e.attempts > 0 || out.deliveries.empty()))
    out.attempts.push_back({e.attempts, e.locked_at == Time{} ? e.updated_at : e.locked_at, e.locked_by, "DELIVERED",
                            seconds(e.took), std::nullopt});
  return out;
}

std::vector<EntryView> entries(Engine& engine, const Request& request, const Position& after, std::size_t limit) {
  const tables::outbox::Filter filter{.status = enum_filter<EntryStatus>(request, "status"),
                                      .type = request.query_value("type"),
                                      .key = request.query_value("key"),
                                      .after = unless_empty(after[0]),
                                      .limit = limit};
  return engine.database().read_result([&](Transaction& tx) {
    std::vector<EntryView> out;
    for (const Entry& entry : tables::outbox::list(tx, filter)) out.push_back(view_of(entry));
    return out;
  });
}

Response show_entry(const Engines& engines, const Request& request) {
  const auto found = find_first(engines, request, [&](Engine&, Transaction& tx) -> std::optional<EntryDetail> {
    const auto entry = tables::outbox::find(tx, request.param("id"));
    if (!entry) return std::nullopt;
    return detail_of(tx, *entry);
  });
  if (!found)
    throw NotFound("NO_SUCH_ENTRY", "the outbox has no entry of this id; completed ones go after their retention");
  return Response::json(200, *found);
}

}  // namespace

void add_outbox_paths(Routes& routes, const Engines& engines) {
  add_list<EntryView>(routes, engines, "/api/outbox", "Events and what became of them, newest first",
                      {"status", "type", "key"},
                      {.rows = entries, .position = [](const EntryView& row) { return Position{row.id}; }});
  routes.get("/api/outbox/{id}", Access::admin,
             describe<void, OfService<EntryDetail>>("One event with its attempts", 200, {"service"}),
             [engines](const Request& request) { return show_entry(engines, request); });
}

}  // namespace skald::http
