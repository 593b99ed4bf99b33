#include "store/postgres/transaction.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

#include "store/postgres/announcer.h"
#include "store/sql_text.h"

namespace skald::postgres {
namespace {

constexpr std::string_view kBeginWrite = "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE";
constexpr std::string_view kBeginRead = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
constexpr std::string_view kNoteWrite =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, pg_current_xact_id()::text";
constexpr std::string_view kNotePooledWrite =
    "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint, pg_current_xact_id()::text, " SKALD_SERVER_RUN;
constexpr std::string_view kNoteRead = "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint";

bool begins_with(std::string_view sql, std::string_view wanted) {
  return sql.size() > wanted.size() && std::equal(wanted.begin(), wanted.end(), sql.begin(), [](char a, char b) {
           return a == std::toupper(static_cast<unsigned char>(b));
         });
}

// Ends with the transaction.
bool is_set_local(std::string_view sql) {
  return begins_with(sql, "SET LOCAL ") || begins_with(sql, "SET CONSTRAINTS ");
}

// What would outlive the transaction in a session that others use after it.
void refuse_session_control(std::string_view sql) {
  static constexpr std::array<std::string_view, 6> banned = {"RESET",   "DISCARD", "DEALLOCATE",
                                                             "PREPARE", "LISTEN",  "UNLISTEN"};
  const std::string word = first_word(sql);
  if (std::ranges::find(banned, word) == banned.end() && (word != "SET" || is_set_local(sql))) return;
  throw Error("TRANSACTION_CONTROL", word + " would outlive the transaction: use SET LOCAL, or leave it to the store");
}

}  // namespace

void PostgresTransaction::begin() {
  if (failure_) raise(*failure_);
  if (stage_ != Stage::untouched) return;
  connection_.add(mode_ == Mode::write ? kBeginWrite : kBeginRead);
  connection_.add_local_settings();
  stage_ = Stage::waiting;
  if (witness_.sql.empty() || connection_.pooled()) add_note();
  opening_ = connection_.batch_size();
}

void PostgresTransaction::add_note() {
  note_index_ = connection_.batch_size();
  const std::string_view write = connection_.pooled() ? kNotePooledWrite : kNoteWrite;
  connection_.add(mode_ == Mode::write ? write : kNoteRead);
}

void PostgresTransaction::take_note(std::size_t index) {
  const std::string_view micros = connection_.value(index, 0);
  std::int64_t value = 0;
  std::from_chars(micros.data(), micros.data() + micros.size(), value);
  now_ = from_micros(value);
  if (mode_ == Mode::read) return;
  id_ = connection_.value(index, 1);
  if (connection_.pooled()) server_run_ = connection_.value(index, 2);
}

void PostgresTransaction::note_savepoints(std::size_t succeeded) {
  for (Savepoint& savepoint : savepoints_) {
    if (savepoint.sent) continue;
    savepoint.sent = true;
    savepoint.reached = savepoint.index < succeeded;
  }
}

void PostgresTransaction::exchange() {
  const std::size_t count = connection_.batch_size();
  failure_ = connection_.exchange(mode_ == Mode::write ? Connection::Access::write : Connection::Access::read);
  note_savepoints(failure_ ? failure_->index : count);
  if (stage_ == Stage::waiting) stage_ = Stage::open;
  if (const auto noted = std::exchange(note_index_, std::nullopt); noted && (!failure_ || failure_->index > *noted))
    take_note(*noted);
  if (failure_) raise(*failure_);
}

Rows PostgresTransaction::run(std::string_view sql, std::span<const Param> params) {
  refuse_transaction_control(sql);
  refuse_session_control(sql);
  begin();
  const std::size_t index = connection_.batch_size();
  connection_.add(sql, params);
  exchange();
  return connection_.take_rows(index);
}

std::vector<Rows> PostgresTransaction::run_together(std::span<const Statement> statements) {
  begin();
  const std::size_t first = connection_.batch_size();
  for (const Statement& statement : statements) defer(statement.sql, statement.params);
  exchange();
  std::vector<Rows> out;
  for (std::size_t i = 0; i < statements.size(); ++i) out.push_back(connection_.take_rows(first + i));
  return out;
}

void PostgresTransaction::defer(std::string_view sql, std::span<const Param> params) {
  refuse_transaction_control(sql);
  refuse_session_control(sql);
  begin();
  connection_.add(sql, params);
}

void PostgresTransaction::witness(std::string_view sql, std::string_view id) {
  witness_.sql = sql;
  witness_.id = id;
}

Time PostgresTransaction::now() {
  begin();
  if (!now_ && !note_index_) add_note();
  if (!now_) exchange();
  return *now_;
}

void PostgresTransaction::savepoint(const std::function<void()>& body) {
  begin();
  const std::size_t events = events_.size();
  savepoints_.push_back({connection_.batch_size(), false, false});
  connection_.add("SAVEPOINT " + savepoint_name());
  try {
    body();
    if (failure_) raise(*failure_);
  } catch (...) {
    events_.resize(events);
    undo_savepoint();
    throw;
  }
  leave_savepoint();
}

// By depth: rolling back to an outer one must not mean one inside of it whose
// RELEASE was dropped from the batch.
std::string PostgresTransaction::savepoint_name() const { return "depth_" + std::to_string(savepoints_.size()); }

void PostgresTransaction::leave_savepoint() {
  connection_.add("RELEASE " + savepoint_name());
  savepoints_.pop_back();
}

void PostgresTransaction::undo_savepoint() {
  const std::string name = savepoint_name();
  const Savepoint savepoint = savepoints_.back();
  savepoints_.pop_back();
  if (!savepoint.sent) {  // the server has heard nothing of it
    connection_.truncate(savepoint.index);
    return;
  }
  if (failure_ && (!savepoint.reached || is_retryable(failure_->kind))) return;
  connection_.truncate(0);  // all of it belongs to the savepoint
  connection_.add("ROLLBACK TO " + name);
  connection_.add("RELEASE " + name);
  failure_.reset();
}

void PostgresTransaction::commit() {
  if (failure_) raise(*failure_);
  if (stage_ == Stage::untouched) return;
  if (stage_ == Stage::waiting && connection_.batch_size() == opening_) {
    connection_.truncate(0);
    return;
  }
  if (mode_ == Mode::read) {
    if (connection_.batch_size() > 0) exchange();
    connection_.add("COMMIT");
    connection_.dispatch();
    return;
  }
  // Without its id or a witness the fate of a lost COMMIT could not be asked for.
  if (stage_ == Stage::waiting && (witness_.sql.empty() || connection_.pooled())) exchange();
  const std::size_t index = connection_.batch_size();
  connection_.add("COMMIT");
  if (!notification_.empty()) follow_with_notification();
  committing_ = true;
  exchange();
  if (connection_.tag(index) != "COMMIT") {
    failure_ = Failed{Failure::sql_error, "25P02", "the server rolled the transaction back instead", index};
    raise(*failure_);
  }
}

void PostgresTransaction::follow_with_notification() {
  if (news_.offer.empty()) {
    const Param params[] = {notification_};
    connection_.follow_with(kNotify, params);
    return;
  }
  // A notification must be shorter than 8,000 bytes.
  const std::string sql =
      "WITH offer(text) AS (" + std::string(news_.offer) +
      ") SELECT pg_notify(" SKALD_CHANNEL
      ", CASE WHEN octet_length(text) < 7900 THEN $2::text || ' ' || text ELSE $2::text END) FROM offer";
  const Param params[] = {news_.id, notification_};
  connection_.follow_with(sql, params);
}

void PostgresTransaction::rollback() noexcept {
  connection_.truncate(0);
  if (stage_ != Stage::open || connection_.broken()) return;
  try {
    connection_.add("ROLLBACK");
    if (connection_.exchange()) connection_.abandon();
  } catch (...) {  // the observer's: closing the session rolls back as well
    connection_.abandon();
  }
}

}  // namespace skald::postgres
