// One session with PostgreSQL, always in pipeline mode: statements are added to a
// batch, which travels in one round trip. Each is prepared once and kept by its
// text, unless a pooler stands in front: there each is new. Knows nothing of transactions. Not thread safe.
#pragma once

#include <libpq-fe.h>

#include <list>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "skald/database.h"
#include "store/postgres/connect_settings.h"
#include "store/postgres/failure.h"
#include "store/postgres/parameters.h"

namespace skald::postgres {

// A server's timeline, which counts up where a standby is promoted, and when its statistics began: it throws them
// away with each crash. (Somebody may reset them besides, which then looks like one.)
#define SKALD_SERVER_RUN                                                                                   \
  "(SELECT left(pg_walfile_name(pg_current_wal_lsn()), 8) || ' ' || coalesce(stats_reset::text, '') FROM " \
  "pg_stat_bgwriter)"

// Of a session, to end it from another thread than the one that uses it: whoever waits for an answer then
// learns that the session is lost.
class SessionSocket {
 public:
  explicit SessionSocket(int socket);
  ~SessionSocket();
  SessionSocket(const SessionSocket&) = delete;
  SessionSocket& operator=(const SessionSocket&) = delete;
  void shut() const;

 private:
  int own_;  // a number of its own: libpq may close the other at any time
};

class Connection {
 public:
  using BeforeStatement = std::function<void(std::string_view sql)>;

  // Throws Unavailable (CONNECT_FAILED), also where the server is a primary that has been replaced;
  // Invalid (POOLER_IN_FRONT) where it is to be a session and is none.
  Connection(const ConnectSettings& settings, BeforeStatement before_statement);

  // How long the server may be silent with answers owed, before the session counts
  // as lost, 5 s unless set: a stopped server keeps its sockets open for ever.
  void limit_silence(Duration limit) { silence_max_ = limit; }

  // Adds a statement to the batch; copies what it needs. Sends nothing.
  void add(std::string_view sql, std::span<const Param> params = {});
  std::size_t batch_size() const { return batch_.size(); }
  // Behind BEGIN: what the session would have set, were it ours.
  void add_local_settings();
  bool pooled() const { return route_ == Route::pooled; }
  // Forgets the statements from the one with index `count` on.
  void truncate(std::size_t count);

  // Sends the batch and reads all answers, in one round trip. The first failure
  // stops the statements behind it. A server that refuses what writes, although the
  // batch may write, is no primary any more: that counts as a lost session. So does a COMMIT
  // that was answered before the synchronous standbys had it.
  enum class Access { write, read };
  std::optional<Failed> exchange(Access access = Access::write);
  // A statement of its own transaction, sent right behind the next exchange's batch,
  // whatever that comes to; its answer is not waited for.
  void follow_with(std::string_view sql, std::span<const Param> params);
  // Sends the batch and does not wait; its answers are read before the next use
  // and ignored.
  void dispatch();

  // Between two transactions. The server keeps a statement's plan, and one that was made for
  // a table that was nearly empty reads all of it however large it grows, until somebody
  // analyses it. So plans are dropped each time this was called twice as often as before.
  void renew_plans();

  // Of the last exchange, by the statement's index in its batch.
  Rows take_rows(std::size_t index);
  std::string_view value(std::size_t index, int column) const;  // of the first row
  std::string_view tag(std::size_t index) const;                // "COMMIT"

  // Reads what is owed, and looks without waiting whether the server is still
  // there. For a connection that has been idle.
  bool usable();
  // True once the session is lost or given up: it can only be closed.
  bool broken() const { return broken_; }
  void abandon() { broken_ = true; }
  const Database::Session& session() const { return session_; }
  // Of the server when the session began: another one after each crash of it, and after each promotion.
  const std::string& server_run() const { return server_run_; }
  Timeline timeline() const { return timeline_; }
  const std::shared_ptr<const SessionSocket>& socket() const { return socket_; }

 private:
  static constexpr std::size_t kStatementsMax = 512;
  static constexpr std::uint64_t kPlansRenewedFirst = 64;  // a power of two

  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  using Result = std::unique_ptr<PGresult, Clear>;

  struct Statement {
    std::string sql;
    std::string name;
    bool sent = false;  // the server has it, or is about to
  };
  struct Item {
    Statement* statement;
    std::size_t first_param;
    std::size_t params;
  };
  // One answer that is to come, in order.
  struct Answer {
    enum class Kind { prepared, result, closed, sync } kind;
    std::size_t index;
    Statement* statement;
    std::string name;  // of a closed statement
  };

  void meet_server(const ConnectSettings& settings);
  static void hear(void* connection, const PGresult* notice);
  Statement& statement(std::string_view sql);
  void observe() const;
  bool send();
  bool send(const Item& item, std::size_t index);
  bool sync(std::size_t index);
  // The first `count` of the answers that are owed.
  std::optional<Failed> receive(std::size_t count);
  std::optional<Failed> accept(Answer& answer, Result result);
  Failed lost(std::size_t index);
  bool await_answer();
  void forget_oldest();

  std::unique_ptr<PGconn, Finish> connection_;
  Route route_;
  std::vector<std::string> local_names_, local_values_;
  BeforeStatement before_statement_;
  Database::Session session_{};  // stays empty behind a pooler, as do the two that follow
  std::string server_run_;
  Timeline timeline_ = 0;
  std::shared_ptr<const SessionSocket> socket_;
  bool unreplicated_ = false;  // somebody cancelled a COMMIT's wait for the synchronous standbys
  bool prepares_ = false;  // once the session is known to be ours
  bool broken_ = false;
  bool silent_ = false;
  Duration silence_max_ = 5s;

  std::list<Statement> statements_;  // the last used first
  std::unordered_map<std::string_view, std::list<Statement>::iterator> by_text_;
  std::vector<std::string> closing_;  // names that the server may forget
  std::uint64_t names_ = 0;
  std::uint64_t transactions_ = 0;

  std::vector<Item> batch_;
  std::optional<Item> follower_;
  Parameters parameters_;
  std::vector<Answer> answers_;
  std::vector<Result> results_;
};

}  // namespace skald::postgres
