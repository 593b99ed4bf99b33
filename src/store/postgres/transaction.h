// The Transaction that a body sees on PostgreSQL: few round trips.
//
// BEGIN and a bookkeeping statement (transaction id, clock) wait for the first
// statement and travel with it; enqueued statements wait for the next one; what
// waits at the end travels with COMMIT. A transaction that sent nothing costs
// nothing. One that has named its witness before its first statement needs no id:
// there the clock is asked only where somebody wants to know. Behind a pooler every one
// asks for its id: its session, which would have to be ended, is not known.
//
// A failure sticks: PostgreSQL refuses everything until the rollback, so every
// later call throws the first failure again, and so does commit() where the body
// has swallowed it. Rolling back to a savepoint lifts it, unless the whole
// transaction is gone.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "skald/database.h"
#include "store/postgres/commit_fate.h"
#include "store/postgres/connection.h"

namespace skald::postgres {

struct Sequel {
  std::vector<Event> events;
  std::vector<std::function<void()>> calls;
};

class PostgresTransaction final : public Transaction {
 public:
  enum class Mode { write, read };

  // `connection` has an empty batch and is used by nobody else until the end.
  PostgresTransaction(Env env, Connection& connection, Mode mode)
      : Transaction(env), connection_(connection), mode_(mode) {}

  void savepoint(const std::function<void()>& body) override;
  void witness(std::string_view sql, std::string_view id) override;
  Time now() override;
  Dialect dialect() const override { return Dialect::postgres; }

  // Sent right behind the COMMIT, on the same session.
  void notify_behind_commit(std::string payload, News news) {
    notification_ = std::move(payload);
    news_ = std::move(news);
  }
  // Ends it; throws what the last round trip met. Then rollback() must follow.
  void commit();
  // Undoes everything; what goes wrong in it ends the session, which undoes it too.
  void rollback() noexcept;

  // What made it fail, also where the body has swallowed it.
  const std::optional<Failed>& failure() const { return failure_; }
  // COMMIT was on its way when the connection was lost: nobody knows but the server.
  bool commit_lost() const { return committing_ && failure_ && failure_->kind == Failure::connection_lost; }
  // What is known to tell its fate by.
  LostCommit lost_commit() const {
    return {id_, witness_, connection_.session(), connection_.pooled() ? server_run_ : connection_.server_run()};
  }
  // What is to follow the commit.
  Sequel take_sequel() { return {std::move(events_), std::move(after_)}; }

 protected:
  Rows run(std::string_view sql, std::span<const Param> params) override;
  void defer(std::string_view sql, std::span<const Param> params) override;
  std::vector<Rows> run_together(std::span<const Statement> statements) override;

 private:
  enum class Stage { untouched, waiting, open };  // BEGIN: not needed yet, in the batch, sent
  struct Savepoint {
    std::size_t index;  // in the batch, while it waits there
    bool sent;
    bool reached;       // the server has it
  };

  void begin();
  void exchange();
  void add_note();
  void take_note(std::size_t index);
  void note_savepoints(std::size_t succeeded);
  std::string savepoint_name() const;
  void leave_savepoint();
  void undo_savepoint();
  void follow_with_notification();

  Connection& connection_;
  Mode mode_;
  Stage stage_ = Stage::untouched;
  bool committing_ = false;
  std::optional<Failed> failure_;
  std::string id_;
  std::string server_run_;  // behind a pooler, where each transaction may meet another server
  std::size_t opening_ = 0;  // how many statements of the batch are ours, while it waits
  Witness witness_;
  std::string notification_;
  News news_;
  std::optional<std::size_t> note_index_;  // in the batch, while it waits there
  std::optional<Time> now_;
  std::vector<Savepoint> savepoints_;
};

}  // namespace skald::postgres
