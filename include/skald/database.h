// The store: transactions over SQLite or PostgreSQL behind one interface.
//
//   db.write("take donation", [&](Transaction& tx) {
//     tx.insert(donation);
//     tx.emit({.type = "donation.accepted", .key = donation.donor, ...});
//   });
//
// write() returns once everything in it is durable, or throws and nothing of it
// happened (CommitUnknown aside). SQL is written once, with $1 parameters, in the
// dialect both databases share; docs/decisions/0003 lists what that is.
//
// Thread safety: a Database may be used from any thread, a Transaction only
// inside of the call that was given it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <typeindex>
#include <utility>
#include <vector>

#include "skald/env.h"
#include "skald/error.h"
#include "skald/event.h"
#include "skald/row.h"
#include "skald/row_watch.h"
#include "skald/time.h"

namespace skald {

enum class Dialect { sqlite, postgres };

class Transaction {
 public:
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  virtual ~Transaction() = default;

  // Runs one statement and waits for its rows.
  template <class... Args>
  Rows query(std::string_view sql, const Args&... args) {
    const Param params[] = {Param(args)..., Param(nullptr)};
    return run(sql, std::span(params, sizeof...(Args)));
  }
  Rows query(std::string_view sql, std::span<const Param> params) { return run(sql, params); }

  // Runs one statement; how many rows it touched.
  template <class... Args>
  std::int64_t execute(std::string_view sql, const Args&... args) {
    return query(sql, args...).affected();
  }

  // Several statements in one round trip; the rows of each.
  struct Statement {
    std::string_view sql;
    std::vector<Param> params;
  };
  std::vector<Rows> query_together(std::initializer_list<Statement> statements) {
    return run_together(std::span(statements.begin(), statements.size()));
  }

  // Bookkeeping whose result nobody needs: travels with the next statement or
  // the commit, in order, at no round trip of its own. Its error surfaces there at
  // the latest.
  template <class... Args>
  void enqueue(std::string_view sql, const Args&... args) {
    const Param params[] = {Param(args)..., Param(nullptr)};
    defer(sql, std::span(params, sizeof...(Args)));
  }
  void enqueue(std::string_view sql, std::span<const Param> params) { defer(sql, params); }

  // Typed rows: T is described and Table<T> names its table and key (row.h).
  template <Described T> void insert(const T& row);
  template <Described T> void enqueue_insert(const T& row);  // as enqueue()
  template <Described T> std::vector<T> select(std::string_view tail, const auto&... args);
  template <Described T> std::optional<T> find(const auto& key);
  // A statement, and find() behind it, in one round trip.
  template <Described T> std::pair<Rows, std::optional<T>> find_behind(const Statement& first, const auto& key);
  // Locks the row until the transaction ends; LockTimeout after the store's lock
  // timeout (5 s unless configured).
  template <Described T> std::optional<T> find_locked(const auto& key);
  // Optimistic: updates where the version is still the one that was read, and
  // counts it up in `row`; throws Stale otherwise. T has a member `version`.
  template <Described T> void save(T& row);
  // As enqueue(), of a row that this transaction has locked by find_locked(): nobody can have
  // changed it since.
  template <Described T> void enqueue_save(T& row);

  // All or nothing inside of the transaction: when body throws, what it wrote is
  // undone and the exception goes on.
  virtual void savepoint(const std::function<void()>& body) = 0;

  // Writes an event at commit, in commit order per key. Returns its id.
  std::string emit(Event event);
  std::span<const Event> emitted() const { return events_; }
  // What is emitted from here on without a trace context of its own gets this one; empty: none.
  void set_traceparent(std::string traceparent) { traceparent_ = std::move(traceparent); }

  // Called when this transaction has committed, by the thread that ran it: to wake somebody
  // up, no more, because a process may die in between. Must not throw.
  void after_commit(std::function<void()> call) { after_.push_back(std::move(call)); }

  // Names a row that is there if and only if this transaction has committed: `sql`
  // finds it by `id`. A store that learns of its transaction's id only with a round
  // trip of its own then needs none to settle a COMMIT whose answer is lost.
  virtual void witness(std::string_view, std::string_view) {}

  // Who is told of the rows that are read and written here; null: nobody. Typed rows
  // that have a version tell by themselves, raw SQL tells by note().
  void watch(RowWatch* watch) { watch_ = watch; }
  bool watched() const { return watch_ != nullptr; }
  void note(const RowAccess& access) {
    if (watch_ != nullptr) watch_->note(access);
  }

  // One T per transaction, made when first asked for: what all code that works in it must
  // know together.
  template <class T>
  T& shared() {
    auto& slot = shared_[typeid(T)];
    if (!slot) slot = std::make_shared<T>();
    return *static_cast<T*>(slot.get());
  }

  // Database time, the same throughout the transaction: the only time that
  // leases and deadlines are counted in.
  virtual Time now() = 0;
  virtual Dialect dialect() const = 0;
  bool on(Dialect which) const { return dialect() == which; }

 protected:
  explicit Transaction(Env env) : env_(env) {}
  virtual Rows run(std::string_view sql, std::span<const Param> params) = 0;
  virtual void defer(std::string_view sql, std::span<const Param> params) = 0;
  virtual std::vector<Rows> run_together(std::span<const Statement> statements) {
    std::vector<Rows> out;
    for (const Statement& statement : statements) out.push_back(run(statement.sql, statement.params));
    return out;
  }

  Env env_;
  std::vector<Event> events_;
  std::vector<std::function<void()>> after_;

 private:
  RowWatch* watch_ = nullptr;
  std::string traceparent_;
  std::map<std::type_index, std::shared_ptr<void>> shared_;
};

// Writes the emitted events as the last statements of a transaction, and hears of
// it afterwards. The outbox is the one real implementation.
// What other processes should hear of a commit.
struct News {
  std::vector<int> partitions;
  // Of a lone event: a query that gives it as one text, by its id as $1. It travels with the
  // news where it is short enough, so that a listener may offer it to its relay at once.
  std::string_view offer = {};
  std::string id = {};
};

class CommitHook {
 public:
  virtual ~CommitHook() = default;
  virtual void before_commit(Transaction& tx, std::span<const Event> events) = 0;
  // The events are durable. Called outside of the transaction, must not throw.
  virtual void after_commit(std::span<const Event> events) noexcept = 0;
  // A store that can tells others along with the commit, and then calls the second instead
  // of after_commit().
  virtual News news_for_others(std::span<const Event>) { return {}; }
  virtual void after_told_commit(std::span<const Event> events, std::span<const int>) noexcept { after_commit(events); }
};

// One step of a schema. Steps are additive: the program before it must still be
// able to run beside it, unless `oldest_program` says otherwise.
struct Migration {
  int version;                 // 1, 2, 3, … without gaps
  std::string name;
  std::string sql;             // statements separated by ';'
  std::string postgres_sql;    // where the dialects differ; empty: the same
  int oldest_program = 1;      // the lowest program version that can live with it
};

// Wakes a waiter when another process has committed events (PostgreSQL).
class Listener {
 public:
  struct Offer {
    int partition;
    std::string text;  // as News::offer gave it
  };
  struct Heard {
    std::vector<int> partitions;  // something new in each
    std::vector<Offer> offers;    // the only news of their commits
  };

  virtual ~Listener() = default;
  virtual int fd() const = 0;
  // What was announced since the last call; reconnects by itself and then reports all
  // partitions. Never blocks.
  virtual Heard drain() = 0;
};

class Database {
 public:
  virtual ~Database() = default;
  using Body = std::function<void(Transaction&)>;

  // Runs body in a writing transaction. It may run several times before it
  // commits (deadlock, serialization failure, lost connection, shared commit
  // that failed), so it must have no effects but through the transaction. A
  // write inside of a write is refused. `name` tells slow ones apart in logs.
  virtual void write(std::string_view name, const Body& body) = 0;

  // Runs body on one consistent snapshot; writing in it is refused.
  virtual void read(const Body& body) = 0;

  // One statement that is a transaction of its own, in one round trip. It may have
  // happened when this throws Unavailable: only for what may be repeated.
  template <class... Args>
  Rows query_alone(std::string_view sql, const Args&... args) {
    const Param params[] = {Param(args)..., Param(nullptr)};
    return run_alone(sql, std::span(params, sizeof...(Args)));
  }

  // write() and read() with a result.
  template <class F>
  auto write_result(std::string_view name, F&& body) {
    std::optional<std::invoke_result_t<F, Transaction&>> result;
    write(name, [&](Transaction& tx) { result.emplace(body(tx)); });
    return std::move(*result);
  }
  template <class F>
  auto read_result(F&& body) {
    std::optional<std::invoke_result_t<F, Transaction&>> result;
    read([&](Transaction& tx) { result.emplace(body(tx)); });
    return std::move(*result);
  }

  // Brings `component`'s schema up to date under a lock. Throws Invalid where the
  // database is newer than this program allows, or an applied step has changed.
  virtual void migrate(std::string_view component, std::span<const Migration> steps) = 0;

  virtual Dialect dialect() const = 0;
  virtual void set_commit_hook(CommitHook* hook) = 0;

  // Across processes: announce that partitions have new events, after the commit,
  // coalesced, on a side connection. Nothing on SQLite, which has one process.
  virtual void announce(std::span<const int> partitions) = 0;
  virtual std::unique_ptr<Listener> listen() = 0;  // null on SQLite
  // announce() only notes the partitions and calls the waker, from any thread; a
  // store owns no thread, so somebody must answer the waker with a flush, which
  // sends what was noted in one round trip (false: nothing was). A flush that
  // throws Unavailable keeps the partitions for the next one. Set the waker before
  // the first announcement; it must not block and must not throw.
  virtual void set_announcement_waker(std::function<void()>) {}
  virtual bool flush_announcements() { return false; }

  // The server's sessions behind this Database, as a worker's row lists them: a
  // stopped process keeps its row locks until another ends its sessions. Empty on
  // SQLite. `started` tells a session from a later one with the same pid.
  struct Session {
    std::int64_t pid;
    std::string started;
    bool operator==(const Session&) const = default;
  };
  virtual std::vector<Session> sessions() const { return {}; }
  // Tells the server to end those that still live. Waits a moment, and not for long: false while one
  // of them is still there. Ask again then.
  virtual bool end_sessions(std::span<const Session>) { return true; }

 protected:
  virtual Rows run_alone(std::string_view sql, std::span<const Param> params) {
    return write_result("one statement", [&](Transaction& tx) { return tx.query(sql, params); });
  }
};

BOOST_DESCRIBE_STRUCT(Database::Session, (), (pid, started))

struct SqliteOptions {
  std::string path;                    // a file, or ":memory:"
  bool full_sync = true;               // PRAGMA synchronous=FULL
  int readers = 4;
  std::size_t batch_max = 256;         // callers in one physical commit
  Duration batch_time_max = 5ms;
  Duration slow_body = 50ms;           // reported by name
};

struct PostgresOptions {
  // postgresql://user@host:port,other:port/database: a standby among the hosts may be promoted at any time.
  std::string url;
  // Where `url` leads through a pooler that gives each transaction another session (PgBouncer): the server itself, for
  // what needs a session of its own. Empty: `url` does.
  std::string listen_url = {};
  // Lets several engines share one database: each has its tables in a schema of its own,
  // which migrate() creates. Lower-case letters and '_'; empty: the user's standard one.
  std::string schema = {};
  int connections = 16;
  Duration lock_timeout = 5s;
  Duration idle_in_transaction_timeout = 2s;  // shorter than any lease
  Duration statement_timeout = 30s;
  Duration silence_beyond_statement = 5s;  // a server silent for longer counts as lost
  Duration acquire_timeout = 10s;  // waiting for a free connection
  // Observation, for the interleaver: called before each round trip with what it
  // carries ("BEGIN …; SELECT …"), and after each connect with the session's pid.
  std::function<void(std::string_view sql)> before_statement = nullptr;
  std::function<void(int pid)> on_connect = nullptr;
};

std::unique_ptr<Database> open_sqlite(Env env, SqliteOptions options);
std::unique_ptr<Database> open_postgres(Env env, PostgresOptions options);

}  // namespace skald

#include "skald/typed_rows.h"  // the templates above
