#include "store/tables/schema.h"

#include <array>

namespace skald::tables {
namespace {

constexpr const char* kShared = R"(
CREATE INDEX skald_outbox_live ON skald_outbox (partition, seq) WHERE live = 1;
CREATE TABLE skald_partition (
  id BIGINT PRIMARY KEY, owner TEXT, fence BIGINT NOT NULL DEFAULT 0);
CREATE TABLE skald_worker (
  id TEXT PRIMARY KEY, host TEXT NOT NULL, pid BIGINT NOT NULL, started_at BIGINT NOT NULL,
  beat BIGINT NOT NULL, beat_at BIGINT NOT NULL, sessions TEXT NOT NULL);
CREATE TABLE skald_attempt (
  event_id TEXT NOT NULL, attempt BIGINT NOT NULL, at BIGINT NOT NULL, worker TEXT NOT NULL,
  outcome TEXT NOT NULL, took BIGINT NOT NULL, error TEXT NOT NULL, PRIMARY KEY (event_id, attempt, at));
CREATE TABLE skald_inbox (
  consumer TEXT NOT NULL, event_id TEXT NOT NULL, at BIGINT NOT NULL, PRIMARY KEY (event_id, consumer));
CREATE TABLE skald_dead_letter (
  id TEXT PRIMARY KEY, reason TEXT NOT NULL, type TEXT NOT NULL, key TEXT NOT NULL, subject TEXT NOT NULL,
  payload TEXT NOT NULL, traceparent TEXT NOT NULL, content_hash TEXT NOT NULL, attempts BIGINT NOT NULL,
  last_error TEXT NOT NULL, created_at BIGINT NOT NULL, dead_at BIGINT NOT NULL,
  state TEXT NOT NULL, note TEXT NOT NULL, resolved_at BIGINT NOT NULL);
CREATE INDEX skald_dead_letter_state ON skald_dead_letter (state, dead_at);
CREATE TABLE skald_blocked_key (key TEXT PRIMARY KEY, event_id TEXT NOT NULL, since BIGINT NOT NULL);
CREATE TABLE skald_job (name TEXT PRIMARY KEY, due_at BIGINT NOT NULL);
CREATE TABLE skald_audit (
  id TEXT PRIMARY KEY, at BIGINT NOT NULL, actor TEXT NOT NULL, action TEXT NOT NULL, target TEXT NOT NULL, detail TEXT NOT NULL);
)";

// `live` is what is still to be done: claims leave it alone, so that on
// PostgreSQL they touch no index.
constexpr const char* kOutboxColumns = R"(
  partition BIGINT NOT NULL, live BIGINT NOT NULL DEFAULT 1, status BIGINT NOT NULL DEFAULT 0,
  attempts BIGINT NOT NULL DEFAULT 0, crashes BIGINT NOT NULL DEFAULT 0, retries_max BIGINT NOT NULL,
  next_retry_at BIGINT NOT NULL DEFAULT 0, locked_at BIGINT NOT NULL DEFAULT 0, took BIGINT NOT NULL DEFAULT 0,
  created_at BIGINT NOT NULL, updated_at BIGINT NOT NULL, version BIGINT NOT NULL DEFAULT 0,
  out_of_order BIGINT NOT NULL DEFAULT 0, key TEXT NOT NULL, type TEXT NOT NULL, subject TEXT NOT NULL,
  content_hash TEXT NOT NULL, locked_by TEXT NOT NULL DEFAULT '', last_error TEXT NOT NULL DEFAULT '',
  traceparent TEXT NOT NULL DEFAULT '', payload TEXT NOT NULL)";

std::string sqlite_schema() {
  return std::string("CREATE TABLE skald_outbox (seq INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE,") +
         kOutboxColumns + ");CREATE INDEX skald_outbox_age ON skald_outbox (updated_at) WHERE status = 3;" + kShared +
         "WITH RECURSIVE p(x) AS (SELECT 0 UNION ALL SELECT x + 1 FROM p WHERE x + 1 < " + std::to_string(kPartitions) +
         ") INSERT INTO skald_partition (id) SELECT x FROM p;";
}

std::string postgres_schema() {
  return std::string(
             "CREATE SEQUENCE skald_outbox_seq CACHE 1;"
             "CREATE TABLE skald_outbox (seq BIGINT NOT NULL DEFAULT nextval('skald_outbox_seq'), id TEXT PRIMARY "
             "KEY,") +
         kOutboxColumns +
         ") WITH (fillfactor = 85, autovacuum_vacuum_scale_factor = 0.05, autovacuum_vacuum_insert_scale_factor = 0.1);"
         "CREATE INDEX skald_outbox_age ON skald_outbox USING brin (updated_at) WITH (pages_per_range = 32);" +
         kShared + "INSERT INTO skald_partition (id) SELECT generate_series(0, " + std::to_string(kPartitions - 1) +
         ");";
}

// A finished saga is in no partial index, and a waiting one is not looked through to
// find those that are owned: they cost what is live, whatever has been.
constexpr const char* kSagas = R"(
CREATE TABLE skald_saga (
  id TEXT PRIMARY KEY, type TEXT NOT NULL, revision BIGINT NOT NULL, key TEXT NOT NULL, parent TEXT NOT NULL,
  root TEXT NOT NULL, status TEXT NOT NULL, live BIGINT NOT NULL, owner TEXT, fence BIGINT NOT NULL,
  take_overs BIGINT NOT NULL, wake_at BIGINT, deadline_at BIGINT, started_at BIGINT NOT NULL, finished_at BIGINT,
  progress TEXT NOT NULL, state TEXT NOT NULL, log TEXT NOT NULL, error_code TEXT NOT NULL, error_message TEXT NOT NULL);
CREATE INDEX skald_saga_due ON skald_saga (wake_at) WHERE live = 1 AND owner IS NULL;
CREATE INDEX skald_saga_owner ON skald_saga (owner) WHERE live = 1 AND owner IS NOT NULL;
CREATE INDEX skald_saga_live ON skald_saga (type, key) WHERE live = 1;
CREATE INDEX skald_saga_key ON skald_saga (key);
CREATE TABLE skald_lock (
  resource TEXT NOT NULL, key TEXT NOT NULL, root TEXT NOT NULL, waiter TEXT NOT NULL, mode TEXT NOT NULL,
  granted BIGINT NOT NULL, seq BIGINT NOT NULL, since BIGINT NOT NULL, step TEXT NOT NULL,
  PRIMARY KEY (resource, key, root));
CREATE INDEX skald_lock_root ON skald_lock (root);
CREATE TABLE skald_signal (
  saga_id TEXT NOT NULL, id TEXT NOT NULL, name TEXT NOT NULL, payload TEXT NOT NULL, sent_at BIGINT NOT NULL,
  taken BIGINT NOT NULL DEFAULT 0, PRIMARY KEY (saga_id, id));
)";

constexpr const char* kShortages = R"(
CREATE TABLE skald_shortage (
  saga_id TEXT PRIMARY KEY, resource TEXT NOT NULL, key TEXT NOT NULL, since BIGINT NOT NULL, freed BIGINT NOT NULL);
CREATE INDEX skald_shortage_place ON skald_shortage (resource, key, since);
)";

constexpr const char* kBlame = R"(
CREATE TABLE skald_blame (
  kind TEXT NOT NULL, id TEXT NOT NULL, counted BIGINT NOT NULL DEFAULT 0, parked_at BIGINT NOT NULL DEFAULT 0,
  sure BIGINT NOT NULL DEFAULT 0, marked_by TEXT NOT NULL DEFAULT '', counted_for TEXT NOT NULL DEFAULT '',
  retry_at BIGINT, PRIMARY KEY (kind, id));
)";

// An entry's `owed` has a bit for each subscriber that is not known to have it. Null: nobody has looked yet who is to
// have it (a program before this one wrote it); the relay does. `proof` has a line for each subscriber that has it.
constexpr const char* kPost = R"(
ALTER TABLE skald_outbox ADD COLUMN owed BIGINT;
ALTER TABLE skald_outbox ADD COLUMN proof TEXT NOT NULL DEFAULT '';
CREATE TABLE skald_database (one BIGINT PRIMARY KEY, id TEXT NOT NULL);
CREATE TABLE skald_subscriber (name TEXT PRIMARY KEY, bit BIGINT NOT NULL UNIQUE, since BIGINT NOT NULL);
CREATE TABLE skald_subscription (
  subscriber TEXT NOT NULL, type TEXT NOT NULL, is_prefix BIGINT NOT NULL, mask BIGINT NOT NULL,
  PRIMARY KEY (subscriber, type, is_prefix));
CREATE TABLE skald_lane (
  subscriber TEXT NOT NULL, partition BIGINT NOT NULL, number BIGINT NOT NULL, chain TEXT NOT NULL,
  PRIMARY KEY (subscriber, partition));
CREATE TABLE skald_landing (
  sender TEXT NOT NULL, partition BIGINT NOT NULL, number BIGINT NOT NULL, chain TEXT NOT NULL, former TEXT NOT NULL,
  ids TEXT NOT NULL, at BIGINT NOT NULL,  PRIMARY KEY (sender, partition));
)";

std::string history_schema(const std::string& numbered) {
  return "CREATE TABLE skald_history (seq " + numbered +
         ", saga_id TEXT NOT NULL, at BIGINT NOT NULL, operations TEXT NOT NULL);";
}

}  // namespace

std::span<const Migration> migrations() {
  static const std::array<Migration, 12> steps = {
      Migration{.version = 1,
                .name = "outbox, inbox, dead letters, workers",
                .sql = sqlite_schema(),
                .postgres_sql = postgres_schema()},
      Migration{.version = 2, .name = "sagas, semantic locks, signals", .sql = kSagas, .postgres_sql = {}},
      Migration{.version = 3,
                .name = "history of sagas",
                .sql = history_schema("INTEGER PRIMARY KEY AUTOINCREMENT"),
                // Room for a saga's next version beside it: its indexes are then left alone.
                .postgres_sql = history_schema("BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY") +
                                "ALTER TABLE skald_saga SET (fillfactor = 80);"},
      Migration{.version = 4,
                .name = "age of ended sagas",
                .sql = "CREATE INDEX skald_saga_age ON skald_saga (finished_at) WHERE live = 0;",
                .postgres_sql = "CREATE INDEX skald_saga_age ON skald_saga USING brin (finished_at) WITH "
                                "(pages_per_range = 32);"},
      Migration{.version = 5,
                .name = "events of other services",
                .sql = "ALTER TABLE skald_outbox ADD COLUMN source TEXT NOT NULL DEFAULT '';",
                .postgres_sql = ""},
      Migration{.version = 6,
                .name = "events by their subject",
                .sql = "CREATE INDEX skald_outbox_subject ON skald_outbox (subject) WHERE subject <> '';",
                .postgres_sql = ""},
      Migration{.version = 7,
                .name = "traces of sagas",
                .sql = "ALTER TABLE skald_saga ADD COLUMN traceparent TEXT NOT NULL DEFAULT '';",
                .postgres_sql = ""},
      Migration{.version = 8, .name = "what sagas lack", .sql = kShortages, .postgres_sql = ""},
      Migration{.version = 9,
                .name = "shapes of definitions",
                .sql = "CREATE TABLE skald_definition (type TEXT NOT NULL, version BIGINT NOT NULL, shape TEXT NOT "
                       "NULL, since BIGINT NOT NULL, PRIMARY KEY (type, version));",
                .postgres_sql = ""},
      Migration{.version = 10, .name = "what may have killed its worker", .sql = kBlame, .postgres_sql = ""},
      Migration{.version = 11, .name = "letters between services", .sql = kPost, .postgres_sql = ""},
      Migration{.version = 12,
                .name = "when letters were confirmed",
                .sql = "ALTER TABLE skald_lane ADD COLUMN at BIGINT NOT NULL DEFAULT 0;",
                .postgres_sql = ""}};
  return steps;
}

}  // namespace skald::tables
