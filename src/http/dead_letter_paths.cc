// GET /api/dead-letters and /{id}; POST /{id}/replay, /{id}/discard, /import.
#include "base/text.h"
#include "http/engine_paths.h"
#include "store/tables/dead_letter.h"

namespace skald::http {
namespace {

using tables::dead_letter::DeadLetter;
using tables::dead_letter::State;

constexpr std::size_t kReasonBytesMax = 500;

// Members of an outbox entry, and what is known of its death.
struct DeadLetterView {
  std::string id, type, key;
  EntryStatus status = EntryStatus::DEAD_LETTER;
  int retry_count = 0;
  std::optional<std::string> last_error;
  std::string content_hash;
  Time created_at{};
  std::string reason, subject;
  RawJson payload;
  Time dead_at{};
  State state{};
  std::optional<std::string> note;
  std::optional<Time> resolved_at;
};
BOOST_DESCRIBE_STRUCT(DeadLetterView, (),
                      (id, type, key, status, retry_count, last_error, content_hash, created_at, reason, subject,
                       payload, dead_at, state, note, resolved_at))

struct Discard {
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(Discard, (), (reason))

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

DeadLetterView view_of(const DeadLetter& d) {
  return {.id = d.id,
          .type = d.type,
          .key = d.key,
          .status = EntryStatus::DEAD_LETTER,
          .retry_count = std::max(0, d.attempts - 1),
          .last_error = unless_empty(d.last_error),
          .content_hash = d.content_hash,
          .created_at = d.created_at,
          .reason = d.reason,
          .subject = d.subject,
          .payload = shown_payload(d.payload),
          .dead_at = d.dead_at,
          .state = d.state,
          .note = unless_empty(d.note),
          .resolved_at = d.resolved_at == Time{} ? std::nullopt : std::optional(d.resolved_at)};
}

DeadLetterView find(Transaction& tx, std::string_view id) {
  const auto found = tables::dead_letter::find(tx, id);
  if (!found) throw NotFound("NO_SUCH_DEAD_LETTER", "there is no dead letter of this id");
  return view_of(*found);
}

// Those that wait for a decision, unless asked for others; ANY for all.
std::optional<State> state_filter(const Request& request) {
  const auto text = request.query_value("state");
  if (!text) return State::DEAD;
  return *text == "ANY" ? std::nullopt : enum_filter<State>(request, "state");
}

Response list(Engine& engine, const Request& request) {
  const Page page = Page::of(request);
  const tables::dead_letter::Filter filter{.state = state_filter(request),
                                           .reason = request.query_value("reason"),
                                           .type = request.query_value("type"),
                                           .key = request.query_value("key"),
                                           .after = unless_empty(page.after(1)[0]),
                                           .limit = page.limit + 1};
  auto rows = engine.database().read_result([&](Transaction& tx) {
    std::vector<DeadLetterView> out;
    for (const DeadLetter& letter : tables::dead_letter::list(tx, filter)) out.push_back(view_of(letter));
    return out;
  });
  return Response::json(200,
                        page.cut(std::move(rows), [](const DeadLetterView& row) { return Page::cursor_at({row.id}); }));
}

Response replay(Engine& engine, const Request& request, Transaction& tx) {
  const std::string& id = request.param("id");
  engine.replay(tx, id, request.caller.subject);
  const DeadLetterView view = find(tx, id);
  // Before the commit, and yet not too early: on SQLite the relay's scan is a write
  // and has to wait for this one, on PostgreSQL what it misses is found by the
  // next beat.
  engine.wake(view.key);
  return Response::json(200, view);
}

Response discard(Engine& engine, const Request& request, Transaction& tx) {
  const auto wish = request.as<Discard>();
  if (wish.reason.empty() || wish.reason.size() > kReasonBytesMax || wish.reason.find('\0') != std::string::npos)
    throw Invalid("BAD_REASON", "reason must say why, in 1 to 500 bytes");
  engine.discard(tx, request.param("id"), request.caller.subject, wish.reason);
  return Response::json(200, find(tx, request.param("id")));
}

}  // namespace

void add_dead_letter_paths(Routes& routes, Engine& engine) {
  Database& db = engine.database();
  routes.get("/api/dead-letters", Access::admin,
             describe<void, Listing<DeadLetterView>>("Events that could not be delivered, newest first", 200,
                                                     {"state", "reason", "type", "key"}),
             [&engine](const Request& request) { return list(engine, request); });
  routes.get("/api/dead-letters/{id}", Access::admin, describe<void, DeadLetterView>("One dead letter"),
             [&engine](const Request& request) {
               return Response::json(
                   200, engine.database().read_result([&](Transaction& tx) { return find(tx, request.param("id")); }));
             });
  routes.post(db, "/api/dead-letters/{id}/replay", Access::admin,
              describe<void, DeadLetterView>("Send it again, under its own id"),
              [&engine](const Request& request, Transaction& tx) { return replay(engine, request, tx); });
  routes.post(db, "/api/dead-letters/{id}/discard", Access::admin,
              describe<Discard, DeadLetterView>("Give it up, for a reason"),
              [&engine](const Request& request, Transaction& tx) { return discard(engine, request, tx); });
  routes.act("/api/dead-letters/import", Access::admin,
             describe<void, Engine::Imported>("Bring dead letters back from the fallback file"),
             [&engine](const Request& request) {
               return Response::json(200, engine.import_dead_letters(request.caller.subject));
             });
}

}  // namespace skald::http
