#include "store/postgres/connection.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <climits>
#include <utility>

namespace skald::postgres {
namespace {

std::string one_line(const char* text) {
  std::string out = text == nullptr ? "" : text;
  while (!out.empty() && (out.back() == '\n' || out.back() == ' ')) out.pop_back();
  for (char& c : out)
    if (c == '\n') c = ' ';
  return out;
}

std::string field(const PGresult* result, int code) { return one_line(PQresultErrorField(result, code)); }

Failed failure_of(const PGresult* result, std::size_t index) {
  Failed failed{Failure::sql_error, field(result, PG_DIAG_SQLSTATE), field(result, PG_DIAG_MESSAGE_PRIMARY), index};
  failed.kind = classify(failed.sqlstate);
  if (failed.sqlstate != "0A000") return failed;
  const std::string source = field(result, PG_DIAG_SOURCE_FUNCTION);
  // A table has changed under a kept statement: a new session prepares it anew.
  if (source == "RevalidateCachedQuery") failed.kind = Failure::connection_lost;
  // BEGIN READ WRITE on a standby.
  if (source == "call_bool_check_hook") failed.kind = Failure::write_in_read;
  return failed;
}

// Of PgBouncer, which knows few settings; where it was told to ignore ours, the number of the session tells.
constexpr std::string_view kPoolersRefusal = "unsupported startup parameter";

[[noreturn]] void refuse_pooler() {
  throw Invalid("POOLER_IN_FRONT",
                "a pooler (PgBouncer) stands between this program and PostgreSQL: set postgres.listen to a URL that "
                "leads to the server itself, past it");
}

}  // namespace

SessionSocket::SessionSocket(int socket) : own_(fcntl(socket, F_DUPFD_CLOEXEC, 0)) {
  if (own_ < 0) throw Unavailable("NO_DESCRIPTOR", "the process has no file descriptor left: raise its limit");
}

SessionSocket::~SessionSocket() { close(own_); }

void SessionSocket::shut() const { shutdown(own_, SHUT_RDWR); }

Connection::Connection(const ConnectSettings& settings, BeforeStatement before_statement)
    : connection_(settings.connect()),
      route_(settings.route()),
      local_names_(settings.local_names()),
      local_values_(settings.local_values()) {
  if (PQstatus(connection_.get()) != CONNECTION_OK) {
    const std::string cause = one_line(PQerrorMessage(connection_.get()));
    if (!pooled() && cause.find(kPoolersRefusal) != cause.npos) refuse_pooler();
    throw Unavailable("CONNECT_FAILED", "cannot connect to PostgreSQL, see that it runs and takes this user: " + cause);
  }
  PQsetNoticeReceiver(connection_.get(), &Connection::hear, this);
  PQenterPipelineMode(connection_.get());
  socket_ = std::make_shared<const SessionSocket>(PQsocket(connection_.get()));
  if (!pooled()) meet_server(settings);
  before_statement_ = std::move(before_statement);
}

void Connection::meet_server(const ConnectSettings& settings) {
  add("SELECT (extract(epoch FROM backend_start) * 1000000)::bigint, " SKALD_SERVER_RUN
      ", pid FROM pg_stat_activity WHERE pid = pg_backend_pid()");
  if (const auto failed = exchange()) raise(*failed);
  const int pid = PQbackendPID(connection_.get());
  if (value(0, 2) != std::to_string(pid)) refuse_pooler();
  session_ = {pid, std::string(value(0, 0))};
  server_run_ = value(0, 1);
  std::from_chars(server_run_.data(), server_run_.data() + server_run_.find(' '), timeline_, 16);
  prepares_ = true;
  if (!settings.accept(connection_.get(), timeline_))
    throw Unavailable("CONNECT_FAILED",
                      "this PostgreSQL was a primary until a standby was promoted in its place, fence it (stop it for "
                      "good); where the database was replaced on purpose, restart this program");
}

void Connection::hear(void* connection, const PGresult* notice) {
  if (field(notice, PG_DIAG_SOURCE_FUNCTION) == "SyncRepWaitForLSN")
    static_cast<Connection*>(connection)->unreplicated_ = true;
}

Connection::Statement& Connection::statement(std::string_view sql) {
  if (const auto found = by_text_.find(sql); found != by_text_.end()) {
    statements_.splice(statements_.begin(), statements_, found->second);
    return statements_.front();
  }
  statements_.push_front({std::string(sql), "s" + std::to_string(++names_)});
  by_text_.emplace(statements_.front().sql, statements_.begin());
  return statements_.front();
}

void Connection::add(std::string_view sql, std::span<const Param> params) {
  const std::size_t first = parameters_.append(params);
  batch_.push_back({&statement(sql), first, params.size()});
}

void Connection::add_local_settings() {
  if (!pooled()) return;
  const Param params[] = {local_names_, local_values_};
  add("SELECT count(set_config(name, value, true)) FROM unnest($1::text[], $2::text[]) AS wanted (name, value)",
      params);
}

void Connection::truncate(std::size_t count) {
  if (count >= batch_.size()) return;
  parameters_.truncate(batch_[count].first_param);
  batch_.resize(count);
}

void Connection::observe() const {
  if (!before_statement_) return;
  std::string all;
  for (const Item& item : batch_) {
    if (!all.empty()) all += "; ";
    all += item.statement->sql;
  }
  before_statement_(all);
}

void Connection::follow_with(std::string_view sql, std::span<const Param> params) {
  const std::size_t first = parameters_.append(params);
  follower_ = Item{&statement(sql), first, params.size()};
}

bool Connection::send(const Item& item, std::size_t index) {
  Statement& statement = *item.statement;
  PGconn* connection = connection_.get();
  if (!prepares_) {
    answers_.push_back({Answer::Kind::result, index, nullptr, {}});
    return PQsendQueryParams(connection, statement.sql.c_str(), static_cast<int>(item.params), nullptr,
                             parameters_.pointers(item.first_param, item.params), nullptr, nullptr, 0) != 0;
  }
  if (!statement.sent) {
    if (PQsendPrepare(connection, statement.name.c_str(), statement.sql.c_str(), 0, nullptr) == 0) return false;
    statement.sent = true;
    answers_.push_back({Answer::Kind::prepared, index, &statement, {}});
  }
  if (PQsendQueryPrepared(connection, statement.name.c_str(), static_cast<int>(item.params),
                          parameters_.pointers(item.first_param, item.params), nullptr, nullptr, 0) == 0)
    return false;
  answers_.push_back({Answer::Kind::result, index, nullptr, {}});
  return true;
}

// Nothing leaves before the sync (or 64 KB), and libpq reads while it cannot
// write, so that a large batch cannot block both sides.
bool Connection::send() {
  observe();
  for (std::size_t i = 0; i < batch_.size(); ++i)
    if (!send(batch_[i], i)) return false;
  for (std::string& name : closing_) {
    const std::string sql = "DEALLOCATE " + name;
    if (PQsendQueryParams(connection_.get(), sql.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) == 0) return false;
    answers_.push_back({Answer::Kind::closed, batch_.size(), nullptr, std::move(name)});
  }
  closing_.clear();
  return sync(batch_.size());
}

bool Connection::sync(std::size_t index) {
  if (PQpipelineSync(connection_.get()) == 0) return false;
  answers_.push_back({Answer::Kind::sync, index, nullptr, {}});
  return true;
}

Failed Connection::lost(std::size_t index) {
  broken_ = true;
  answers_.clear();
  const std::string text = silent_ ? "the server does not answer" : one_line(PQerrorMessage(connection_.get()));
  return {Failure::connection_lost, "08006", text, index};
}

// False: the server was silent for too long.
bool Connection::await_answer() {
  const auto limit = std::chrono::duration_cast<std::chrono::milliseconds>(silence_max_).count();
  while (PQisBusy(connection_.get()) != 0) {
    pollfd ready{PQsocket(connection_.get()), POLLIN, 0};
    const int readable = poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(limit, INT_MAX)));
    if (readable == 0) silent_ = true;
    if (silent_) return false;
    if (readable > 0 && PQconsumeInput(connection_.get()) == 0) return true;  // the next call tells why
  }
  return true;
}

std::optional<Failed> Connection::exchange(Access access) {
  if (!answers_.empty() && !broken_) receive(answers_.size());
  results_.clear();
  results_.resize(batch_.size());
  const auto follower = std::exchange(follower_, std::nullopt);
  std::optional<Failed> failed;
  if (broken_ || !send()) {
    failed = lost(0);
  } else {
    const std::size_t awaited = answers_.size();
    if (follower && !(send(*follower, batch_.size()) && sync(batch_.size()))) failed = lost(0);
    else failed = receive(awaited);
  }
  if (failed && failed->kind == Failure::write_in_read && access == Access::write) {
    failed->kind = Failure::connection_lost;
    broken_ = true;
  }
  if (!failed && unreplicated_) {
    failed = Failed{Failure::connection_lost, "01000", "somebody cancelled the wait for a standby", batch_.size()};
    broken_ = true;
  }
  parameters_.truncate(0);
  batch_.clear();
  if (!broken_) forget_oldest();
  return failed;
}

void Connection::dispatch() {
  if (broken_ || !send()) lost(0);
  truncate(0);
  results_.clear();
}

void Connection::renew_plans() {
  if (pooled()) return;
  if (before_statement_) return;  // whoever watches decides what happens here, statement by statement
  if (++transactions_ < kPlansRenewedFirst || !std::has_single_bit(transactions_) || broken_ || !batch_.empty()) return;
  add("DISCARD PLANS");
  dispatch();
}

std::optional<Failed> Connection::receive(std::size_t count) {
  std::optional<Failed> first;
  for (std::size_t i = 0; i < count; ++i) {
    Answer& answer = answers_[i];
    if (!await_answer()) {
      Failed failed = lost(answer.index);
      return first ? std::move(first) : std::move(failed);
    }
    Result result(PQgetResult(connection_.get()));
    if (result != nullptr && answer.kind != Answer::Kind::sync) {
      while (Result more{PQgetResult(connection_.get())}) {
        if (PQstatus(connection_.get()) == CONNECTION_BAD) break;
      }
    }
    if (result == nullptr) {
      Failed failed = lost(answer.index);
      return first ? std::move(first) : std::move(failed);
    }
    auto failed = accept(answer, std::move(result));
    if (failed && !first) first = std::move(failed);
    if (first && is_session_gone(first->kind)) broken_ = true;
    if (broken_ || PQstatus(connection_.get()) == CONNECTION_BAD) {
      Failed gone = lost(answer.index);
      return first ? std::move(first) : std::move(gone);
    }
  }
  answers_.erase(answers_.begin(), answers_.begin() + static_cast<std::ptrdiff_t>(count));
  return first;
}

std::optional<Failed> Connection::accept(Answer& answer, Result result) {
  const ExecStatusType status = PQresultStatus(result.get());
  switch (status) {
    case PGRES_COMMAND_OK:
    case PGRES_TUPLES_OK:
    case PGRES_EMPTY_QUERY:
    case PGRES_PIPELINE_SYNC:
      if (answer.kind == Answer::Kind::result && answer.index < results_.size())
        results_[answer.index] = std::move(result);
      return std::nullopt;
    case PGRES_COPY_IN:
    case PGRES_COPY_OUT:
    case PGRES_COPY_BOTH:
      broken_ = true;  // there is no way out of COPY in a pipeline
      return Failed{Failure::sql_error, "0A000", "COPY is not possible here", answer.index};
    default: break;
  }
  // It did not happen: remember what the server has, and what it still keeps.
  if (answer.kind == Answer::Kind::prepared) answer.statement->sent = false;
  if (answer.kind == Answer::Kind::closed) closing_.push_back(std::move(answer.name));
  if (status == PGRES_PIPELINE_ABORTED) return std::nullopt;
  Failed failed = failure_of(result.get(), answer.index);
  if (failed.sqlstate.empty() && PQstatus(connection_.get()) == CONNECTION_BAD) {
    failed.kind = Failure::connection_lost;
    failed.sqlstate = "08006";
    failed.message = one_line(PQresultErrorMessage(result.get()));
  }
  return failed;
}

void Connection::forget_oldest() {
  while (statements_.size() > kStatementsMax) {
    Statement& oldest = statements_.back();
    by_text_.erase(oldest.sql);
    if (oldest.sent) closing_.push_back(std::move(oldest.name));
    statements_.pop_back();
  }
}

Rows Connection::take_rows(std::size_t index) {
  PGresult* result = results_[index].get();
  const int rows = PQntuples(result), columns = PQnfields(result);
  const std::string_view touched = PQcmdTuples(result);
  std::int64_t affected = 0;
  std::from_chars(touched.data(), touched.data() + touched.size(), affected);
  if (rows == 0 || columns == 0) return Rows({}, static_cast<std::size_t>(columns), affected, nullptr);

  std::vector<Cell> cells(static_cast<std::size_t>(rows) * static_cast<std::size_t>(columns));
  auto cell = cells.begin();
  for (int row = 0; row < rows; ++row) {
    for (int column = 0; column < columns; ++column, ++cell) {
      if (PQgetisnull(result, row, column) != 0) continue;
      cell->kind = Cell::Kind::text;
      cell->text = {PQgetvalue(result, row, column), static_cast<std::size_t>(PQgetlength(result, row, column))};
    }
  }
  std::shared_ptr<const void> memory(results_[index].release(), [](PGresult* owned) { PQclear(owned); });
  return Rows(std::move(cells), static_cast<std::size_t>(columns), affected, std::move(memory));
}

std::string_view Connection::value(std::size_t index, int column) const {
  const PGresult* result = results_[index].get();
  if (result == nullptr || PQntuples(result) == 0) return {};
  return {PQgetvalue(result, 0, column), static_cast<std::size_t>(PQgetlength(result, 0, column))};
}

std::string_view Connection::tag(std::size_t index) const { return PQcmdStatus(results_[index].get()); }

bool Connection::usable() {
  if (!answers_.empty() && !broken_) receive(answers_.size());
  for (pollfd ready{PQsocket(connection_.get()), POLLIN, 0}; !broken_ && poll(&ready, 1, 0) > 0;)
    broken_ = PQconsumeInput(connection_.get()) == 0 || PQstatus(connection_.get()) != CONNECTION_OK;
  return !broken_;
}

}  // namespace skald::postgres
