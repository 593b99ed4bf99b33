// GET /api/dead-letters and /{id}; POST /{id}/replay, /{id}/discard, /import.
#include "base/text.h"
#include "http/engine_paths.h"
#include "skald/controls.h"
#include "store/tables/dead_letter.h"

namespace skald::http {
namespace {

using tables::dead_letter::DeadLetter;
using tables::dead_letter::State;

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

}  // namespace
}  // namespace skald::http

template <>
struct skald::Limits<skald::http::Discard> {
  static constexpr skald::MemberLimit of[] = {{"reason", 1, skald::http::kReasonBytesMax}};
};

namespace skald::http {
namespace {

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

[[noreturn]] void refuse_unknown_letter() {
  throw NotFound("NO_SUCH_DEAD_LETTER", "there is no dead letter of this id");
}

std::optional<DeadLetterView> find(Transaction& tx, const std::string& id) {
  const auto found = tables::dead_letter::find(tx, id);
  return found ? std::optional(view_of(*found)) : std::nullopt;
}

OfService<DeadLetterView> decided(const ServiceEngine& of, const Request& request, Transaction& tx) {
  auto found = find(tx, request.param("id"));
  if (!found) refuse_unknown_letter();
  return {std::move(*found), of.service};
}

// Those that wait for a decision, unless asked for others; ANY for all.
std::optional<State> state_filter(const Request& request) {
  const auto text = request.query_value("state");
  if (!text) return State::DEAD;
  return *text == "ANY" ? std::nullopt : enum_filter<State>(request, "state");
}

std::vector<DeadLetterView> dead_letters(Engine& engine, const Request& request, const Position& after,
                                         std::size_t limit) {
  const tables::dead_letter::Filter filter{.state = state_filter(request),
                                           .reason = request.query_value("reason"),
                                           .type = request.query_value("type"),
                                           .key = request.query_value("key"),
                                           .after = unless_empty(after[0]),
                                           .limit = limit};
  return engine.database().read_result([&](Transaction& tx) {
    std::vector<DeadLetterView> out;
    for (const DeadLetter& letter : tables::dead_letter::list(tx, filter)) out.push_back(view_of(letter));
    return out;
  });
}

Response show_letter(const Engines& engines, const Request& request) {
  const auto found =
      find_first(engines, request, [&](Engine&, Transaction& tx) { return find(tx, request.param("id")); });
  if (!found) refuse_unknown_letter();
  return Response::json(200, *found);
}

Response replay(const ServiceEngine& of, const Request& request, Transaction& tx) {
  of.engine.replay(tx, request.param("id"), request.caller.subject);
  const auto view = decided(of, request, tx);
  // Before the commit, and yet not too early: on SQLite the relay's scan is a write
  // and has to wait for this one, on PostgreSQL what it misses is found by the
  // next beat.
  of.engine.wake(view.key);
  return Response::json(200, view);
}

Response discard(const ServiceEngine& of, const Request& request, Transaction& tx) {
  const auto wish = request.as<Discard>();
  if (wish.reason.empty() || wish.reason.size() > kReasonBytesMax || has_controls(wish.reason, kLineBreaks))
    throw Invalid("BAD_REASON", "reason must say why, in 1 to 500 bytes without control characters");
  of.engine.discard(tx, request.param("id"), request.caller.subject, wish.reason);
  return Response::json(200, decided(of, request, tx));
}

// Each engine has a file of its own. What one has imported stays so when the next one
// fails: the same request again goes on.
Response import(const Engines& engines, const Request& request) {
  Engine::Imported sum;
  for (const ServiceEngine& of : asked_for(engines, request)) {
    const auto done = ask(of, [&](Engine& engine) { return engine.import_dead_letters(request.caller.subject); });
    sum.imported += done.imported;
    sum.known += done.known;
    sum.damaged += done.damaged;
  }
  return Response::json(200, sum);
}

}  // namespace

void add_dead_letter_paths(Routes& routes, const Engines& engines) {
  add_list<DeadLetterView>(
      routes, engines, "/api/dead-letters", "Events that could not be delivered, newest first",
      {"state", "reason", "type", "key"},
      {.rows = dead_letters, .position = [](const DeadLetterView& row) { return Position{row.id}; }});
  routes.get("/api/dead-letters/{id}", Access::admin,
             describe<void, OfService<DeadLetterView>>("One dead letter", 200, {"service"}),
             [engines](const Request& request) { return show_letter(engines, request); });
  const auto decide = [&engines](Decision decision) {
    return decide_where_known(
        engines, [](Engine&, Transaction& tx, const std::string& id) { return find(tx, id).has_value(); },
        std::move(decision));
  };
  routes.post("/api/dead-letters/{id}/replay", Access::admin,
              describe<void, OfService<DeadLetterView>>("Send it again, under its own id", 200, {"service"}),
              decide(replay));
  routes.post("/api/dead-letters/{id}/discard", Access::admin,
              describe<Discard, OfService<DeadLetterView>>("Give it up, for a reason", 200, {"service"}),
              decide(discard));
  routes.act("/api/dead-letters/import", Access::admin,
             describe<void, Engine::Imported>("Bring dead letters back from the fallback files", 200, {"service"}),
             [engines](const Request& request) { return import(engines, request); });
}

}  // namespace skald::http
