#include "http/idempotency.h"

#include <algorithm>
#include <type_traits>

#include "base/hash.h"
#include "env/seam.h"
#include "skald/id.h"

namespace skald::http {
namespace {

constexpr std::size_t kKeyBytesMax = 255;
constexpr int kPurgeBatch = 500;

constexpr const char* kKeys = R"sql(
      CREATE TABLE skald_api_key (
        scope TEXT NOT NULL,
        key TEXT NOT NULL,
        body_hash TEXT NOT NULL,
        status INT NOT NULL,
        content_type TEXT NOT NULL,
        headers TEXT NOT NULL,
        body TEXT NOT NULL,
        created_at BIGINT NOT NULL,
        expires_at BIGINT NOT NULL,
        PRIMARY KEY (scope, key)
      );
      CREATE INDEX skald_api_key_expires ON skald_api_key (expires_at))sql";

// What an effect of several transactions is found by. Until it is answered, its key has the status 0.
constexpr const char* kEffectIds = "ALTER TABLE skald_api_key ADD COLUMN effect_id TEXT NOT NULL DEFAULT ''";

// Tries under a key that may have the effect, or may still come to it: begun, and not definitely refused.
constexpr const char* kOpenTries = "ALTER TABLE skald_api_key ADD COLUMN open_tries BIGINT NOT NULL DEFAULT 1";

const Migration kMigrations[] = {
    {.version = 1, .name = "idempotency keys of the API", .sql = kKeys, .postgres_sql = ""},
    {.version = 2, .name = "ids of effects", .sql = kEffectIds, .postgres_sql = ""},
    {.version = 3, .name = "open tries of effects", .sql = kOpenTries, .postgres_sql = ""}};

struct Key {
  std::string scope, key, body_hash;
  Duration kept = kApiKeyKept;
  std::string whole() const { return unambiguous({"skald_api_key", scope, key}); }
};

Key key_of(const Request& request, std::string_view key, Duration kept = kApiKeyKept) {
  const bool visible = std::ranges::all_of(key, [](char c) { return c > ' ' && c < 0x7f; });
  if (key.empty() || key.size() > kKeyBytesMax || !visible)
    throw Invalid("BAD_IDEMPOTENCY_KEY", "Idempotency-Key must be 1 to 255 visible ASCII characters");
  // One subject in another role is another caller. A customer's scope is what it was before roles
  // counted: what is kept of those keys still answers after an upgrade.
  const Caller& caller = request.caller;
  const std::string scope = caller.role == Role::customer
                                ? unambiguous({caller.subject, request.method, request.path})
                                : unambiguous({enum_name(caller.role), caller.subject, request.method, request.path});
  return {hex(sha256(scope)), std::string(key), hex(sha256(request.body)), kept};
}

[[noreturn]] void refuse_in_flight() {
  throw Busy("KEY_IN_FLIGHT", "a request with this Idempotency-Key is still under way; send it again in a moment", 1s);
}

constexpr std::string_view kLock = "SELECT pg_try_advisory_xact_lock($1)";
constexpr std::string_view kFind =
    "SELECT body_hash, status, content_type, headers, body, expires_at, effect_id FROM skald_api_key WHERE scope = $1 "
    "AND key = $2";

// The lock is tried, never waited for: a waiter would hold a connection, and could deadlock.
Rows lock_and_find(Transaction& tx, const Key& key) {
  if (!tx.on(Dialect::postgres)) return tx.query(kFind, key.scope, key.key);
  const auto number = static_cast<std::int64_t>(hash64(key.whole()));
  auto found = tx.query_together({{kLock, {number}}, {kFind, {key.scope, key.key}}});
  if (!found[0].get<bool>(0, 0)) refuse_in_flight();
  return std::move(found[1]);
}

// Of what kFind has found.
void check_body(const Rows& found, const Key& key) {
  if (seam::holds(seam::Rule::api_key_body_compared) && found.get<std::string_view>(0, 0) != key.body_hash)
    throw Invalid("KEY_REUSED", "this Idempotency-Key was used with another body; take a new key for a new request");
}

Response answer_in(const Rows& found) {
  Response response{found.get<int>(0, 1), found.get<std::string>(0, 4), found.get<std::string>(0, 2),
                    from_json<std::map<std::string, std::string>>(found.get<std::string_view>(0, 3))};
  response.headers["idempotency-replayed"] = "true";
  return response;
}

std::optional<Response> find(Transaction& tx, const Key& key) {
  const Rows rows = lock_and_find(tx, key);
  if (rows.empty()) return std::nullopt;
  if (rows.get<Time>(0, 5) <= tx.now()) {
    tx.enqueue("DELETE FROM skald_api_key WHERE scope = $1 AND key = $2", key.scope, key.key);
    return std::nullopt;
  }
  check_body(rows, key);
  return answer_in(rows);
}

struct Begun {
  std::string effect_id;
  std::optional<Response> answer;
};

// An effect under `fresh_id`, unless one has begun under this key: then another try of that one. The insert locks the
// key's row, whether it is new or not, until this has committed.
Begun begin(Transaction& tx, const Key& key, const std::string& fresh_id) {
  tx.enqueue(
      "INSERT INTO skald_api_key (scope, key, body_hash, status, content_type, headers, body, created_at, expires_at, "
      "effect_id) VALUES ($1, $2, $3, 0, '', '{}', '', $4, $5, $6) ON CONFLICT (scope, key) DO UPDATE SET body_hash = "
      "excluded.body_hash, status = 0, created_at = excluded.created_at, expires_at = excluded.expires_at, effect_id = "
      "excluded.effect_id, open_tries = 1 WHERE skald_api_key.expires_at <= excluded.created_at",
      key.scope, key.key, key.body_hash, tx.now(), tx.now() + key.kept, fresh_id);
  const Rows rows = tx.query(kFind, key.scope, key.key);
  check_body(rows, key);
  Begun begun{seam::holds(seam::Rule::effect_id_kept) ? rows.get<std::string>(0, 6) : fresh_id, std::nullopt};
  if (rows.get<int>(0, 1) != 0) begun.answer = answer_in(rows);
  else if (begun.effect_id != fresh_id)
    tx.enqueue("UPDATE skald_api_key SET open_tries = open_tries + 1 WHERE scope = $1 AND key = $2", key.scope,
               key.key);
  return begun;
}

// What an error says of the effect of the try that ended with it.
enum class Refusal {
  none,     // it may be there, or may still come: the error may pass, and another try may be under way
  of_this,  // this try has none
  of_all    // no try under its effect id has one any more
};

Refusal refusal_in(const std::exception& error) {
  const auto is = [&]<class E>(std::type_identity<E>) { return dynamic_cast<const E*>(&error) != nullptr; };
  if (is(std::type_identity<RefusedForNow>())) return Refusal::of_all;
  const bool definite = is(std::type_identity<Invalid>()) || is(std::type_identity<Unauthorized>()) ||
                        is(std::type_identity<Forbidden>()) || is(std::type_identity<NotFound>()) ||
                        is(std::type_identity<Refused>());
  return definite ? Refusal::of_this : Refusal::none;
}

// The key is free where no try is left that may have its effect.
void close_try(Transaction& tx, const Key& key, const std::string& effect_id, Refusal refusal) {
  tx.enqueue(
      "UPDATE skald_api_key SET open_tries = CASE WHEN $4 = 1 THEN 0 ELSE open_tries - 1 END WHERE scope = $1 AND "
      "key = $2 AND effect_id = $3 AND status = 0",
      key.scope, key.key, effect_id, refusal == Refusal::of_all ? 1 : 0);
  tx.enqueue(
      "DELETE FROM skald_api_key WHERE scope = $1 AND key = $2 AND effect_id = $3 AND status = 0 AND open_tries <= 0",
      key.scope, key.key, effect_id);
}

// What is answered: the first that came of this effect. A key that was forgotten meanwhile is
// kept anew; one that has another effect by now is not this one's any more.
Response keep(Transaction& tx, const Key& key, const std::string& effect_id, const Response& response) {
  const bool first =
      tx.execute(
          "INSERT INTO skald_api_key (scope, key, body_hash, status, content_type, headers, body, created_at, "
          "expires_at, effect_id) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) ON CONFLICT (scope, key) DO UPDATE "
          "SET status = excluded.status, content_type = excluded.content_type, headers = excluded.headers, body = "
          "excluded.body, expires_at = excluded.expires_at WHERE skald_api_key.effect_id = excluded.effect_id AND "
          "skald_api_key.status = 0",
          key.scope, key.key, key.body_hash, response.status, response.content_type, to_json(response.headers),
          response.body, tx.now(), tx.now() + key.kept, effect_id) == 1;
  if (first || !seam::holds(seam::Rule::first_answer_given)) return response;
  const Rows rows = tx.query(kFind, key.scope, key.key);
  return rows.get<std::string_view>(0, 6) == effect_id ? answer_in(rows) : response;
}

void remember(Transaction& tx, const Key& key, const Response& response) {
  tx.enqueue(
      "INSERT INTO skald_api_key (scope, key, body_hash, status, content_type, headers, body, created_at, expires_at) "
      "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
      key.scope, key.key, key.body_hash, response.status, response.content_type, to_json(response.headers),
      response.body, tx.now(), tx.now() + key.kept);
}

}  // namespace

InFlight::Hold::~Hold() {
  const std::lock_guard lock(keys_.mutex_);
  keys_.keys_.erase(key_);
}

std::unique_ptr<InFlight::Hold> InFlight::enter(std::string key) {
  const std::lock_guard lock(mutex_);
  if (!keys_.insert(key).second) return nullptr;
  return std::make_unique<Hold>(*this, std::move(key));
}

void migrate_api_keys(Database& db) { db.migrate("skald_http", kMigrations); }

Response run_once_per_key(Database& db, InFlight& in_flight, const Request& request, const WriteHandler& handler) {
  const std::string name = request.method + ' ' + request.path;
  const auto header = request.headers.find("idempotency-key");
  if (header == request.headers.end())
    return db.write_result(name, [&](Transaction& tx) { return handler(request, tx); });

  const Key key = key_of(request, header->second, in_flight.kept());
  std::unique_ptr<InFlight::Hold> hold;
  if (db.dialect() == Dialect::sqlite) {
    hold = in_flight.enter(key.whole());
    if (hold == nullptr) refuse_in_flight();
  }

  bool replayed = false;
  const Response response = db.write_result(name, [&](Transaction& tx) {
    auto stored = find(tx, key);
    replayed = stored.has_value();
    if (replayed) return std::move(*stored);
    Response fresh = handler(request, tx);
    if (seam::holds(seam::Rule::api_key_in_transaction)) remember(tx, key, fresh);
    return fresh;
  });
  if (!replayed && !seam::holds(seam::Rule::api_key_in_transaction))
    db.write(name, [&](Transaction& tx) { remember(tx, key, response); });
  return response;
}

Response act_once_per_key(Database& db, InFlight& in_flight, Env env, const Request& request, const Handler& handler) {
  Request asked = request;
  asked.effect_id = make_id(env.clock.now(), env.random);
  const auto header = request.headers.find("idempotency-key");
  if (header == request.headers.end()) return handler(asked);

  const Key key = key_of(request, header->second, in_flight.kept());
  const auto hold = in_flight.enter(key.whole());
  if (hold == nullptr) refuse_in_flight();
  Begun begun = db.write_result("begin act", [&](Transaction& tx) { return begin(tx, key, asked.effect_id); });
  if (begun.answer) return std::move(*begun.answer);
  asked.effect_id = begun.effect_id;
  Response response;
  try {
    response = handler(asked);
  } catch (const std::exception& error) {
    if (const Refusal refusal = refusal_in(error); refusal != Refusal::none)
      db.write("close try", [&](Transaction& tx) { close_try(tx, key, asked.effect_id, refusal); });
    throw;
  }
  try {
    return db.write_result("keep answer", [&](Transaction& tx) { return keep(tx, key, asked.effect_id, response); });
  } catch (const Unavailable& error) {
    throw CommitUnknown("ANSWER_NOT_KEPT", std::string("the effect is there, its answer is not kept: ") + error.what());
  }
}

bool remembers(Database& db, const Request& request) {
  const auto header = request.headers.find("idempotency-key");
  if (header == request.headers.end()) return false;
  const Key key = key_of(request, header->second);
  return db.read_result([&](Transaction& tx) {
    return !tx.query("SELECT 1 FROM skald_api_key WHERE scope = $1 AND key = $2 AND expires_at > $3", key.scope,
                     key.key, tx.now())
                .empty();
  });
}

bool purge_expired(Database& db) {
  return db.write_result("purge API keys", [](Transaction& tx) {
    return tx.execute(
               "DELETE FROM skald_api_key WHERE (scope, key) IN (SELECT scope, key FROM skald_api_key "
               "WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2)",
               tx.now(), kPurgeBatch) == kPurgeBatch;
  });
}

}  // namespace skald::http
