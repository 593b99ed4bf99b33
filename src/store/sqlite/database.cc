#include "store/sqlite/database.h"

#include <algorithm>
#include <filesystem>
#include <thread>

#include "env/seam.h"
#include "skald/json.h"
#include "store/commit_hook.h"
#include "store/migrations.h"
#include "store/sqlite/file_lock.h"
#include "store/sqlite/open_transaction.h"
#include "store/sqlite/parking.h"

namespace skald::sqlite {
namespace {

// The databases that this thread is inside of.
thread_local std::vector<const void*> entered;

struct Entered {
  explicit Entered(const void* database) { entered.push_back(database); }
  ~Entered() { entered.pop_back(); }
};

}  // namespace

constexpr int kDone = 1, kLead = 2;
constexpr int kCarefulCallers = 512;
constexpr int kPatience = 64;  // times; one is about a microsecond where nobody else can run

struct SqliteDatabase::Caller {
  std::string_view name;
  const Body* body = nullptr;
  std::vector<Event> events;      // of the run that is being committed
  std::vector<std::function<void()>> after;  // of that run, too
  std::exception_ptr refusal;     // what the body threw
  std::exception_ptr failure;     // what the caller is told instead of success
  bool answered_early = false;
  Parking told;                   // kDone or kLead
};

SqliteDatabase::SqliteDatabase(Env env, SqliteOptions options) : env_(env), options_(std::move(options)), clock_(env) {
  const bool memory = options_.path == ":memory:";
  if (memory) options_.readers = 0;  // a second connection would see another database
  if (!memory) {
    file_lock_ = std::make_unique<FileLock>(options_.path);
    FileLock::keep_private(options_.path);
  }
  writer_ = std::make_unique<Connection>(options_.path, Connection::Mode::writer, options_.full_sync);
  for (int i = 0; i < options_.readers; ++i)
    readers_.push_back(std::make_unique<Connection>(options_.path, Connection::Mode::reader, options_.full_sync));
}

SqliteDatabase::~SqliteDatabase() = default;

void SqliteDatabase::refuse_nested() const {
  if (std::ranges::find(entered, this) != entered.end())
    throw Error("NESTED_WRITE",
                "a transaction inside of another one on the same database: pass the Transaction along instead");
}

void SqliteDatabase::write(std::string_view name, const Body& body) {
  refuse_nested();
  Caller caller;
  caller.name = name;
  caller.body = &body;
  bool leads = false;
  {
    std::lock_guard lock(queue_mutex_);
    queue_.push_back(&caller);
    leads = !std::exchange(led_, true);
  }
  if (leads || caller.told.wait() == kLead) lead(caller);
  if (caller.failure) std::rethrow_exception(caller.failure);
  follow(caller);
}

// What a caller wanted to come behind its commit.
void SqliteDatabase::follow(const Caller& caller) {
  if (!caller.events.empty()) {
    if (!seam::holds(seam::Rule::emit_in_transaction))
      write("emit apart", [&](Transaction& tx) { hook_->before_commit(tx, caller.events); });
    hook_->after_commit(caller.events);
  }
  for (const auto& call : caller.after) call();
}

// Runs one batch, in which the leader itself is the first, and hands leadership on:
// first of all, so that the next batch runs while the members of this one wake up.
void SqliteDatabase::lead(Caller& leader) {
  const std::vector<Caller*> batch = run_batch();
  Caller* next = nullptr;
  {
    std::lock_guard lock(queue_mutex_);
    led_ = !queue_.empty();
    if (led_) next = queue_.front();
  }
  if (next != nullptr) next->told.say(kLead);
  for (Caller* member : batch)
    if (member != &leader) member->told.say(kDone);
}

std::vector<std::exception_ptr> SqliteDatabase::write_together(std::span<const Body> bodies) {
  refuse_nested();
  std::deque<Caller> callers(bodies.size());
  {
    std::lock_guard lock(queue_mutex_);
    for (std::size_t i = 0; i < bodies.size(); ++i) {
      callers[i].body = &bodies[i];
      queue_.push_back(&callers[i]);
    }
  }
  run_batch();
  std::vector<std::exception_ptr> results;
  for (Caller& caller : callers) {
    results.push_back(caller.failure);
    if (!caller.failure) follow(caller);
  }
  return results;
}

// Every caller in the batch has its result afterwards.
std::vector<SqliteDatabase::Caller*> SqliteDatabase::run_batch() {
  std::lock_guard physical(physical_);
  Entered guard(this);
  std::vector<Caller*> batch;
  std::deque<Caller*> again;  // lost their transaction through a neighbour's fault
  do {
    const auto open = run_bodies(batch, again);
    expected_ = open.size();
    const std::exception_ptr failure = open.empty() ? nullptr : commit();
    for (Caller* caller : open) {
      if (!caller->answered_early) caller->failure = failure ? failure : caller->refusal;
    }
  } while (!again.empty());
  return batch;
}

// Opens a physical transaction and fills it: the callers that are in it. Those of the last
// batch were woken together, and come again one by one: the first of them gives way to the
// others a few times, or each commit of many would be followed by one of a few.
std::vector<SqliteDatabase::Caller*> SqliteDatabase::run_bodies(std::vector<Caller*>& batch,
                                                                std::deque<Caller*>& again) {
  const Instant begun = env_.clock.steady();
  std::vector<Caller*> open;
  int patience = kPatience;
  for (bool first = true;; first = false) {
    const bool full = open.size() >= options_.batch_max || env_.clock.steady() - begun > options_.batch_time_max;
    if (full && !first) return open;
    Caller* caller = nullptr;
    if (!again.empty()) {
      caller = again.front();
      again.pop_front();
    } else {
      caller = next_in_queue();
      if (caller == nullptr && open.size() < expected_ && patience-- > 0) {
        std::this_thread::yield();
        continue;
      }
      if (caller == nullptr) return open;
      batch.push_back(caller);
    }
    try {
      if (stopped_) std::rethrow_exception(stopped_);
      if (open.empty()) writer_->control("BEGIN IMMEDIATE");
      const Fate fate = run_caller(*caller, open.empty());
      if (fate == Fate::in) {
        open.push_back(caller);
      } else {
        if (fate == Fate::again) again.push_front(caller);
        again.insert(again.begin(), open.begin(), open.end());
        open.clear();
      }
    } catch (...) {
      // The store's own statements: what they have left behind is not known.
      caller->failure = std::current_exception();
      undo();
      again.insert(again.begin(), open.begin(), open.end());
      open.clear();
    }
    if (writer_->take_no_room()) note_full(true);
  }
}

SqliteDatabase::Caller* SqliteDatabase::next_in_queue() {
  std::lock_guard lock(queue_mutex_);
  if (queue_.empty()) return nullptr;
  Caller* caller = queue_.front();
  queue_.pop_front();
  return caller;
}

// A savepoint for each caller costs a quarter of the whole (SQLite copies every page
// that is touched first under one). So they run without, and where one is refused all
// are rolled back and run again, each with its own; and so the next batches, because
// refusals come in swarms.
SqliteDatabase::Fate SqliteDatabase::run_caller(Caller& caller, bool alone) {
  const Instant begun = env_.clock.steady();
  caller.refusal = nullptr;
  caller.events.clear();
  caller.after.clear();
  OpenTransaction tx(env_, *writer_, clock_.now());
  const bool apart = careful_ > 0;
  if (apart) writer_->control("SAVEPOINT caller");
  Fate fate = Fate::in;
  try {
    (*caller.body)(tx);
    if (!tx.emitted().empty() && seam::holds(seam::Rule::emit_in_transaction))
      required_hook(hook_).before_commit(tx, tx.emitted());
    tx.refuse_if_lost();
    if (writer_->has_deferred_violations())
      throw Conflict("CONSTRAINT_VIOLATION", "a row refers to another that does not exist");
    caller.events.assign(tx.emitted().begin(), tx.emitted().end());
    caller.after = tx.take_after();
    if (apart) writer_->control("RELEASE caller");
  } catch (...) {
    caller.refusal = std::current_exception();
    caller.events.clear();
    caller.after.clear();
    careful_ = kCarefulCallers;
    if (alone) undo();  // nobody else is in it
    if (!writer_->in_transaction()) {
      fate = Fate::out;
      caller.failure = caller.refusal;
    } else if (apart) {
      writer_->control("ROLLBACK TO caller");
      writer_->control("RELEASE caller");
    } else {
      undo();
      fate = Fate::again;
    }
  }
  if (careful_ > 0) --careful_;
  if (!seam::holds(seam::Rule::answer_after_commit) && tx.emitted().empty() && fate != Fate::again) {
    caller.failure = caller.refusal;
    caller.answered_early = true;
  }
  report_slow(caller.name, env_.clock.steady() - begun);
  return fate;
}

// Null when everything in the transaction is durable.
std::exception_ptr SqliteDatabase::commit() {
  try {
    if (before_physical_commit) before_physical_commit();
    writer_->control("COMMIT");
  } catch (...) {
    return not_committed(std::current_exception());
  }
  checkpoint();
  return nullptr;
}

// What the callers are told of a COMMIT that failed.
std::exception_ptr SqliteDatabase::not_committed(std::exception_ptr failure) {
  const bool no_room = writer_->take_no_room();
  if (no_room) note_full(true);
  if (writer_->in_transaction()) {
    undo();
    return failure;
  }
  // SQLite has ended it by itself. Where there was no room, the log lacks the end by which a
  // commit is known: nothing happened, and the next one is written over it.
  if (no_room) return failure;
  // Otherwise that end may have reached the disk, or not; and of a disk that has failed in a
  // sync nothing that is written later can be trusted.
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& cause) {
    stop(cause.what());
  }
  return std::make_exception_ptr(
      CommitUnknown("COMMIT_UNKNOWN", "the commit's sync to disk failed: ask again after a restart"));
}

void SqliteDatabase::checkpoint() {
  try {
    writer_->checkpoint_if_long();
    if (writer_->take_stored()) note_full(false);
  } catch (const Error& error) {
    if (writer_->take_no_room()) note_full(true);
    else stop(error.what());
  }
}

void SqliteDatabase::undo() {
  try {
    if (writer_->in_transaction()) writer_->control("ROLLBACK");
  } catch (const Error& error) {
    if (writer_->in_transaction()) stop(error.what());
  }
}

void SqliteDatabase::stop(const std::string& cause) {
  if (stopped_) return;
  // Whoever may ask whether the process is ready is told this; the cause names paths, and is for the log.
  const std::string text = "a sync or write of " + file_name() +
                           " failed: nothing is written any more until the process is started again; see to the disk "
                           "first";
  stopped_ = std::make_exception_ptr(Unavailable("WRITER_STOPPED", text));
  {
    const std::lock_guard lock(health_mutex_);
    health_ = {text, true};
  }
  env_.observer.count("store_writer_stopped_total");
  env_.observer.log(Observer::Level::critical, text, file_fields("WRITER_STOPPED") + ",\"error\":" + to_json(cause));
}

// Said when it begins and when it is over.
void SqliteDatabase::note_full(bool full) {
  if (full) env_.observer.count("store_disk_full_total");
  if (std::exchange(full_, full) == full || stopped_) return;
  {
    const std::lock_guard lock(health_mutex_);
    health_ = {};
    if (full) health_.trouble = "the disk is full under " + file_name() + ": make room, and writing goes on by itself";
  }
  if (full) env_.observer.log(Observer::Level::error, health().trouble, file_fields("DISK_FULL"));
  else env_.observer.log(Observer::Level::info, "there is room on the disk again");
}

// Without the folder: /readyz tells it to anybody who asks. The log has all of it.
std::string SqliteDatabase::file_name() const { return std::filesystem::path(options_.path).filename().string(); }
std::string SqliteDatabase::file_fields(std::string_view code) const {
  return "\"code\":" + to_json(std::string(code)) + ",\"file\":" + to_json(options_.path);
}

StoreHealth SqliteDatabase::health() const {
  const std::lock_guard lock(health_mutex_);
  return health_;
}

void SqliteDatabase::read(const Body& body) {
  refuse_nested();
  Entered guard(this);
  std::unique_ptr<Connection> lent;
  std::unique_lock<std::mutex> physical;
  Connection* connection = nullptr;
  if (options_.readers == 0) {
    physical = std::unique_lock(physical_);
    connection = writer_.get();
    connection->control("PRAGMA query_only=ON");
  } else {
    std::unique_lock lock(readers_mutex_);
    reader_free_.wait(lock, [&] { return !readers_.empty(); });
    lent = std::move(readers_.back());
    readers_.pop_back();
    connection = lent.get();
  }
  std::exception_ptr failure;
  try {
    connection->control("BEGIN");
    OpenTransaction tx(env_, *connection, clock_.now());
    body(tx);
    tx.refuse_if_lost();
  } catch (...) {
    failure = std::current_exception();
  }
  if (connection->in_transaction()) connection->control("ROLLBACK");
  if (lent == nullptr) {
    connection->control("PRAGMA query_only=OFF");
  } else {
    std::lock_guard lock(readers_mutex_);
    readers_.push_back(std::move(lent));
    reader_free_.notify_one();
  }
  if (failure) std::rethrow_exception(failure);
}

void SqliteDatabase::migrate(std::string_view component, std::span<const Migration> steps) {
  write("migrate", [&](Transaction& tx) { apply_migrations(tx, component, steps); });
}

void SqliteDatabase::report_slow(std::string_view name, Duration took) const {
  if (took <= options_.slow_body) return;
  env_.observer.count("store_slow_bodies_total");
  env_.observer.log(Observer::Level::warn, "a write held the database for too long; move slow work out of it",
                    "\"write\":\"" + std::string(name) + "\",\"ms\":" + std::to_string(took.count() / 1000));
}

}  // namespace skald::sqlite

namespace skald {

std::unique_ptr<Database> open_sqlite(Env env, SqliteOptions options) {
  return std::make_unique<sqlite::SqliteDatabase>(env, std::move(options));
}

}  // namespace skald
