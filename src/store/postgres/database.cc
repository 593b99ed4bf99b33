#include "store/postgres/database.h"

#include <algorithm>

#include "store/commit_hook.h"
#include "store/migrations.h"
#include "store/postgres/commit_fate.h"
#include "store/postgres/listener.h"
#include "store/postgres/transaction.h"

namespace skald::postgres {
namespace {

constexpr Duration kMigrationSilenceMax = std::chrono::hours(24);

// The databases that this thread is inside of.
thread_local std::vector<const void*> entered;

struct Entered {
  explicit Entered(const void* database) {
    if (std::ranges::find(entered, database) != entered.end())
      throw Error("NESTED_WRITE",
                  "a transaction inside of another one on the same database: pass the Transaction along instead");
    entered.push_back(database);
  }
  ~Entered() { entered.pop_back(); }
  Entered(const Entered&) = delete;
  Entered& operator=(const Entered&) = delete;
};

}  // namespace

PostgresDatabase::PostgresDatabase(Env env, PostgresOptions options)
    : env_(env),
      options_(std::move(options)),
      settings_(options_),
      pool_(options_, pooled() ? ConnectSettings(options_, Route::pooled) : settings_),
      announcer_(env, settings_) {
  if (pooled()) must_lead_to_one_database();
}

void PostgresDatabase::must_lead_to_one_database() {
  const char* which = "SELECT current_database() || ' ' || system_identifier FROM pg_control_system()";
  const auto pooled = read_result([&](Transaction& tx) { return tx.query(which).get<std::string>(0, 0); });
  if (query_alone(which).get<std::string>(0, 0) != pooled)
    throw Invalid("BAD_LISTEN_URL", "postgres.listen leads to another database than db: both must name the same one");
}

void PostgresDatabase::write(std::string_view name, const Body& body) {
  // The server ends each statement itself before that.
  write_patiently(name, body, options_.statement_timeout + options_.silence_beyond_statement);
}

void PostgresDatabase::write_patiently(std::string_view name, const Body& body, Duration silence_max) {
  Sequel sequel;
  std::vector<int> told;
  {
    const Entered guard(this);
    Chances chances;
    for (bool done = false; !done;) {
      LostCommit lost;
      const Outcome outcome = run_write(name, body, chances, sequel, told, lost, silence_max);
      done = outcome == Outcome::done;
      if (outcome != Outcome::commit_lost) continue;
      const CommitFate fate = commit_fate(pool_, env_, lost);
      env_.observer.count("store_commits_lost_total");
      if (fate == CommitFate::unknown)
        throw CommitUnknown(
            "COMMIT_UNKNOWN",
            "the connection was lost during a commit and the server cannot be asked: find out before repeating it");
      done = fate == CommitFate::committed;
      if (!done && !chances.take(Failure::connection_lost))
        throw Unavailable("CONNECTION_LOST",
                          "the connection to the database was lost again and again, try again later");
    }
  }
  CommitHook* hook = hook_;
  if (hook != nullptr && !sequel.events.empty()) {
    if (told.empty()) hook->after_commit(sequel.events);
    else hook->after_told_commit(sequel.events, told);
  }
  for (const auto& call : sequel.calls) call();
}

// Sets `sequel` when it is done or its commit is lost, and then `lost` too. Throws
// where another run cannot help.
PostgresDatabase::Outcome PostgresDatabase::run_write(std::string_view name, const Body& body, Chances& chances,
                                                      Sequel& sequel, std::vector<int>& told, LostCommit& lost,
                                                      Duration silence_max) {
  const Pool::Lease lease = pool_.acquire();
  (*lease).limit_silence(silence_max);
  PostgresTransaction tx(env_, *lease, PostgresTransaction::Mode::write);
  try {
    body(tx);
    if (!tx.emitted().empty()) {
      required_hook(hook_).before_commit(tx, tx.emitted());
      told = tell_along(tx);
    }
    tx.commit();
  } catch (...) {
    tx.rollback();
    told.clear();
    // Whatever the body made of it: a transaction that the server has given up
    // says nothing about the business.
    if (tx.commit_lost()) {
      sequel = tx.take_sequel();
      lost = tx.lost_commit();
      return Outcome::commit_lost;
    }
    if (!tx.failure() || !is_retryable(tx.failure()->kind) || !chances.take(tx.failure()->kind)) throw;
    note_retry(name, *tx.failure());
    return Outcome::again;
  }
  sequel = tx.take_sequel();
  return Outcome::done;
}

// The partitions that others hear of with the commit itself.
std::vector<int> PostgresDatabase::tell_along(PostgresTransaction& tx) {
  if (pooled()) return {};  // announced from a session of ours
  News news = required_hook(hook_).news_for_others(tx.emitted());
  if (news.partitions.empty()) return {};
  std::string payload = announcer_.claim_alone(news.partitions);
  if (payload.empty()) return {};
  std::vector<int> told = news.partitions;
  tx.notify_behind_commit(std::move(payload), std::move(news));
  return told;
}

void PostgresDatabase::read(const Body& body) {
  const Entered guard(this);
  Chances chances;
  while (!run_read(body, chances)) {}
}

bool PostgresDatabase::run_read(const Body& body, Chances& chances) {
  const Pool::Lease lease = pool_.acquire();
  (*lease).limit_silence(options_.statement_timeout + options_.silence_beyond_statement);
  PostgresTransaction tx(env_, *lease, PostgresTransaction::Mode::read);
  try {
    body(tx);
    if (!tx.emitted().empty()) throw Error("WRITE_IN_READ", "a read cannot emit events: use Database::write");
    tx.commit();
  } catch (...) {
    tx.rollback();
    if (!tx.failure() || !is_retryable(tx.failure()->kind) || !chances.take(tx.failure()->kind)) throw;
    note_retry("read", *tx.failure());
    return false;
  }
  return true;
}

Rows PostgresDatabase::run_alone(std::string_view sql, std::span<const Param> params) {
  std::lock_guard lock(alone_mutex_);
  if (alone_ == nullptr || !alone_->usable()) {
    alone_.reset();
    alone_ = std::make_unique<Connection>(settings_, options_.before_statement);
    alone_->limit_silence(options_.silence_beyond_statement);
    pool_.leave_old_primary();
    if (options_.on_connect) options_.on_connect(static_cast<int>(alone_->session().pid));
  }
  alone_->add(sql, params);
  if (const auto failed = alone_->exchange()) raise(*failed);
  return alone_->take_rows(0);
}

void PostgresDatabase::note_retry(std::string_view name, const Failed& failed) const {
  env_.observer.count("store_retries_total");
  env_.observer.log(Observer::Level::info, "a transaction is run again",
                    "\"write\":" + to_json(name) + ",\"sqlstate\":" + to_json(std::string_view(failed.sqlstate)));
}

// Steps may build indexes over millions of rows: the limits are the store's own.
void PostgresDatabase::migrate(std::string_view component, std::span<const Migration> steps) {
  const auto body = [&](Transaction& tx) {
    tx.enqueue("SET LOCAL statement_timeout = 0");
    tx.enqueue("SET LOCAL lock_timeout = '60s'");
    tx.query("SELECT pg_advisory_xact_lock(hashtextextended('skald_schema', 0))");
    if (!options_.schema.empty()) tx.query("CREATE SCHEMA IF NOT EXISTS \"" + options_.schema + "\"");
    apply_migrations(tx, component, steps);
  };
  write_patiently("migrate", body, kMigrationSilenceMax);
}

std::unique_ptr<Listener> PostgresDatabase::listen() { return std::make_unique<PostgresListener>(env_, settings_); }

bool PostgresDatabase::end_sessions(std::span<const Session> sessions) {
  const Pool::Lease lease = pool_.acquire();
  return postgres::end_sessions(*lease, sessions);
}

}  // namespace skald::postgres

namespace skald {

std::unique_ptr<Database> open_postgres(Env env, PostgresOptions options) {
  return std::make_unique<postgres::PostgresDatabase>(env, std::move(options));
}

}  // namespace skald
