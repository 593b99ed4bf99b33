// What ten million finished rows cost: the same writes and claims on a database
// that has them and on one that has none, in turns.
#include <sqlite3.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "measure.h"
#include "sections.h"
#include "skald/engine.h"
#include "store/tables/outbox.h"
#include "workload.h"

namespace bench {
namespace {

constexpr std::int64_t kFinished = 10'000'000;
constexpr int kRounds = 15;
constexpr std::int64_t kAlone = 100;      // events of each round that are written one by one, and measured
constexpr std::int64_t kTogether = 900;   // and those that are put in with one commit
constexpr std::int64_t kEvents = kAlone + kTogether;
constexpr std::size_t kPage = 4;          // per partition, as the relay reads it: 256 for all
constexpr double kRatioMax = 1.3;
constexpr const char* kWorker = "bench";

// Ids of finished rows sort before all new ones, as in life.
constexpr const char* kFinishedPostgres =
    "INSERT INTO skald_outbox (id, partition, live, status, attempts, retries_max, created_at, updated_at, version, "
    "key, type, subject, "
    "content_hash, locked_by, payload) "
    "SELECT '00' || lpad(g::text, 24, '0'), g % 64, 0, 3, 1, 3, g, g, 1, 'k' || g % 10000, 'bench.stock_reserved', '', "
    "md5(g::text) || md5(g::text), 'bench', repeat('x', 204) FROM generate_series(1::bigint, ";
constexpr const char* kFinishedSqlite =
    "WITH RECURSIVE s(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM s WHERE g < ?1) "
    "INSERT INTO skald_outbox (id, partition, live, status, attempts, retries_max, created_at, updated_at, version, "
    "key, type, subject, "
    "content_hash, locked_by, payload) "
    "SELECT printf('00%024d', g), g % 64, 0, 3, 1, 3, g, g, 1, 'k' || g % 10000, 'bench.stock_reserved', '', "
    "printf('%064d', g), 'bench', printf('%.204c', 'x') FROM s";

struct Cost {
  double insert_us, claim_us;  // of one event
};

// A database with an engine that only emits; the claims are made here, by the
// statements that the relay uses.
class Side {
 public:
  Side(skald::Env env, std::unique_ptr<skald::Database> db) : db_(std::move(db)), engine_(env, *db_, {.works = false}) {
    db_->write("own",
               [](skald::Transaction& tx) { tx.execute("UPDATE skald_partition SET owner = $1, fence = 1", kWorker); });
    for (int i = 0; i < skald::kPartitions; ++i) positions_.push_back({i, 1, 0});
  }

  Cost round() {
    const std::int64_t begun = now_ns();
    for (std::int64_t i = 0; i < kAlone; ++i) write(1);
    const std::int64_t inserted = now_ns();
    write(kTogether);
    const std::int64_t claiming = now_ns();
    std::size_t claimed = 0;
    while (claimed < kEvents) {
      std::size_t page = 0;
      db_->write("claim", [&](skald::Transaction& tx) {
        const auto pending = skald::tables::outbox::pending(tx, kWorker, positions_, kPage);
        std::vector<skald::tables::outbox::Completion> done;
        for (const auto& entry : pending.entries) done.push_back({entry.id, {}});
        skald::tables::outbox::complete(tx, done, kWorker, false);
        page = done.size();
      });
      if (page == 0) throw std::runtime_error("events are missing");
      claimed += page;
    }
    const std::int64_t end = now_ns();
    return {static_cast<double>(inserted - begun) / 1e3 / kAlone, static_cast<double>(end - claiming) / 1e3 / kEvents};
  }

 private:
  void write(std::int64_t count) {
    const std::int64_t first = next_;
    next_ += count;
    db_->write("insert", [&](skald::Transaction& tx) {
      for (std::int64_t i = first; i < first + count; ++i)
        tx.emit({.type = "bench.stock_reserved", .key = key_of(i), .payload = payload_of(i)});
    });
  }

  std::unique_ptr<skald::Database> db_;
  skald::Engine engine_;
  std::vector<skald::tables::outbox::Position> positions_;
  std::int64_t next_ = 0;
};

void compare(const std::string& database, Side& none, Side& full, std::int64_t rows, Report& report) {
  ::sync();  // what filling has left to be written must not slow the one side down
  std::vector<double> inserts[2], claims[2];
  none.round();
  full.round();
  for (int i = 0; i < kRounds; ++i) {
    const Cost a = none.round(), b = full.round();
    inserts[0].push_back(a.insert_us);
    inserts[1].push_back(b.insert_us);
    claims[0].push_back(a.claim_us);
    claims[1].push_back(b.claim_us);
  }
  const double insert_ratio = median(inserts[1]) / median(inserts[0]),
               claim_ratio = median(claims[1]) / median(claims[0]);
  report.table("Finished rows on " + database + ", microseconds per event",
               {"operation", "none", std::to_string(rows), "ratio"},
               {{"insert and commit", number(median(inserts[0]), 1), number(median(inserts[1]), 1),
                 number(insert_ratio, 2) + "x"},
                {"claim and complete", number(median(claims[0]), 1), number(median(claims[1]), 1),
                 number(claim_ratio, 2) + "x"}});
  report.check(database + ", insert with " + std::to_string(rows) + " finished rows against none",
               {Target::Kind::at_most, kRatioMax}, insert_ratio);
  report.check(database + ", claim with " + std::to_string(rows) + " finished rows against none",
               {Target::Kind::at_most, kRatioMax}, claim_ratio);
}

// Without indexes and with room in the log, then as the schema has it again.
void fill_postgres(Server& server, const std::string& url, std::int64_t rows) {
  server.sql().run("ALTER SYSTEM SET max_wal_size = '16GB'");
  server.sql().run("SELECT pg_reload_conf()");
  Sql sql(url);
  sql.run("SET synchronous_commit = off");
  sql.run("SET maintenance_work_mem = '1GB'");
  const std::string indexes = sql.value(
      "SELECT string_agg(indexdef, ';') FROM pg_indexes WHERE tablename = 'skald_outbox' AND indexname <> "
      "'skald_outbox_pkey'");
  sql.run("ALTER TABLE skald_outbox DROP CONSTRAINT skald_outbox_pkey");
  sql.run(
      "DO $$ DECLARE name text; BEGIN FOR name IN SELECT indexname FROM pg_indexes WHERE tablename = 'skald_outbox' "
      "LOOP EXECUTE 'DROP INDEX ' || name; END LOOP; END $$");
  sql.run(kFinishedPostgres + std::to_string(rows) + ") g");
  sql.run("ALTER TABLE skald_outbox ADD CONSTRAINT skald_outbox_pkey PRIMARY KEY (id)");
  sql.run(indexes);
  sql.run("VACUUM (ANALYZE) skald_outbox");
  server.sql().run("ALTER SYSTEM RESET max_wal_size");
  server.sql().run("SELECT pg_reload_conf()");
}

void fill_sqlite(const std::string& path, std::int64_t rows) {
  sqlite3* db = nullptr;
  sqlite3_stmt* statement = nullptr;
  bool good = sqlite3_open(path.c_str(), &db) == SQLITE_OK &&
              sqlite3_exec(db, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA cache_size=-200000", nullptr,
                           nullptr, nullptr) == SQLITE_OK &&
              sqlite3_prepare_v2(db, kFinishedSqlite, -1, &statement, nullptr) == SQLITE_OK &&
              sqlite3_bind_int64(statement, 1, rows) == SQLITE_OK && sqlite3_step(statement) == SQLITE_DONE;
  const std::string error = sqlite3_errmsg(db);
  sqlite3_finalize(statement);
  sqlite3_close(db);
  if (!good) throw std::runtime_error("cannot fill " + path + ": " + error);
}

}  // namespace

void measure_history(Server& server, const Options& options, Report& report) {
  const std::int64_t finished = options.rows.value_or(kFinished);
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  const skald::Env env{*clock, *random, skald::silent_observer()};
  {
    const std::string none_url = server.create("bench_none"), full_url = server.create("bench_full");
    Side full(env, skald::open_postgres(env, {.url = full_url}));
    progress("history, filling PostgreSQL");
    fill_postgres(server, full_url, finished);
    server.checkpoint();
    Side none(env, skald::open_postgres(env, {.url = none_url}));
    compare("PostgreSQL", none, full, finished, report);
  }
  server.drop("bench_none");
  server.drop("bench_full");

  std::string folder = (std::filesystem::temp_directory_path() / "skald-bench.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  {
    const auto open = [&](const std::string& name) {
      return Side(env, skald::open_sqlite(env, {.path = folder + "/" + name}));
    };
    { Side made = open("full.db"); }
    progress("history, filling SQLite");
    fill_sqlite(folder + "/full.db", finished);
    Side full = open("full.db"), none = open("none.db");
    compare("SQLite", none, full, finished, report);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace bench
