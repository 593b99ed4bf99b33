#include "store/sqlite/connection.h"

#include <cerrno>
#include <cstring>
#include <vector>

#include "store/sql_text.h"

namespace skald::sqlite {
namespace {

constexpr std::size_t kStatementsMax = 512;
// Pages that change with every commit go to the file every 16 MB.
constexpr int kLogPagesMax = 4000;

void bind(sqlite3_stmt* statement, int index, const Param& param) {
  switch (param.kind()) {
    case Param::Kind::null: sqlite3_bind_null(statement, index); break;
    case Param::Kind::integer: sqlite3_bind_int64(statement, index, param.integer()); break;
    case Param::Kind::real: sqlite3_bind_double(statement, index, param.real()); break;
    case Param::Kind::text:
      sqlite3_bind_text64(statement, index, param.text().data() ? param.text().data() : "", param.text().size(),
                          SQLITE_STATIC, SQLITE_UTF8);
      break;
    case Param::Kind::integers:
    case Param::Kind::texts: throw Error("ARRAY_PARAMETER", "array parameters exist on PostgreSQL only");
  }
}

// Copies the rows out. Texts go into one arena; the cells point into it once it
// has stopped growing.
Rows collect(sqlite3_stmt* statement, int& code) {
  std::size_t columns = 0;
  std::vector<Cell> cells;
  auto arena = std::make_shared<std::string>();
  std::vector<std::pair<std::size_t, std::size_t>> texts;  // cell, offset
  while ((code = sqlite3_step(statement)) == SQLITE_ROW) {
    columns = static_cast<std::size_t>(sqlite3_column_count(statement));  // stepping may have prepared it anew
    for (std::size_t c = 0; c < columns; ++c) {
      const int column = static_cast<int>(c);
      Cell cell;
      switch (sqlite3_column_type(statement, column)) {
        case SQLITE_NULL: break;
        case SQLITE_INTEGER:
          cell.kind = Cell::Kind::integer;
          cell.integer = sqlite3_column_int64(statement, column);
          break;
        case SQLITE_FLOAT:
          cell.kind = Cell::Kind::real;
          cell.real = sqlite3_column_double(statement, column);
          break;
        default: {
          cell.kind = Cell::Kind::text;
          const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
          const auto size = static_cast<std::size_t>(sqlite3_column_bytes(statement, column));
          texts.emplace_back(cells.size(), arena->size());
          arena->append(text, size);
          cell.text = std::string_view(nullptr, size);
        }
      }
      cells.push_back(cell);
    }
  }
  if (columns == 0) columns = static_cast<std::size_t>(sqlite3_column_count(statement));
  for (const auto& [index, offset] : texts)
    cells[index].text = std::string_view(arena->data() + offset, cells[index].text.size());
  const std::size_t rows = columns == 0 ? 0 : cells.size() / columns;
  return Rows(std::move(cells), columns, static_cast<std::int64_t>(rows), std::move(arena));
}

// What the system said, where it did.
std::string system_error(sqlite3* db) {
  const int code = sqlite3_system_errno(db);
  return code == 0 ? "" : ": " + std::string(std::strerror(code));
}

// The file that it is about; a damaged one must be found among several.
std::string file_of(sqlite3* db) {
  const char* name = sqlite3_db_filename(db, "main");
  return name == nullptr || *name == '\0' ? "the database in memory" : "the database file " + std::string(name);
}

}  // namespace

Connection::Connection(const std::string& path, Mode mode, bool full_sync) {
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
  const int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  db_.reset(raw);
  if (code != SQLITE_OK)
    throw Unavailable("DATABASE_UNAVAILABLE",
                      "cannot open the database file " + path + ": " + sqlite3_errmsg(raw) + system_error(raw));
  sqlite3_extended_result_codes(raw, 1);
  sqlite3_busy_timeout(raw, 5000);
  sqlite3_set_authorizer(raw, &Connection::authorize, this);
  control("PRAGMA journal_mode=WAL");
  control(full_sync ? "PRAGMA synchronous=FULL" : "PRAGMA synchronous=NORMAL");
  control("PRAGMA foreign_keys=ON");
  control("PRAGMA temp_store=MEMORY");
  control("PRAGMA trusted_schema=OFF");
  control("PRAGMA wal_autocheckpoint=0");
  if (mode == Mode::reader) {
    control("PRAGMA query_only=ON");
  } else {
    // SQLite's own checkpoints keep their failures to themselves.
    sqlite3_wal_hook(raw, &Connection::note_log, this);
    control("PRAGMA cache_size=-16384");
  }
}

int Connection::authorize(void* self, int action, const char*, const char*, const char*, const char*) {
  if (static_cast<Connection*>(self)->own_) return SQLITE_OK;
  switch (action) {
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
    case SQLITE_PRAGMA:
    case SQLITE_ATTACH:
    case SQLITE_DETACH: return SQLITE_DENY;
    default: return SQLITE_OK;
  }
}

sqlite3_stmt* Connection::prepared(std::string_view sql) {
  Statements& known = own_ ? controls_ : statements_;
  if (const auto found = known.find(sql); found != known.end()) return found->second.get();
  if (!own_) refuse_transaction_control(sql);
  sqlite3_stmt* raw = nullptr;
  const std::string text = number_parameters(sql);
  const int code = sqlite3_prepare_v3(db_.get(), text.data(), static_cast<int>(text.size()), SQLITE_PREPARE_PERSISTENT,
                                      &raw, nullptr);
  Statement statement(raw);
  if (code != SQLITE_OK) fail(code);
  if (raw == nullptr) throw Error("SQL_ERROR", "the statement is empty");
  if (known.size() >= kStatementsMax) known.clear();  // dynamic SQL; the live set comes back at once
  return known.emplace(std::string(sql), std::move(statement)).first->second.get();
}

Rows Connection::run(std::string_view sql, std::span<const Param> params) { return step(prepared(sql), params); }

Rows Connection::step(sqlite3_stmt* statement, std::span<const Param> params) {
  struct Reset {
    sqlite3_stmt* statement;
    ~Reset() {
      sqlite3_reset(statement);
      sqlite3_clear_bindings(statement);
    }
  } reset{statement};
  if (static_cast<std::size_t>(sqlite3_bind_parameter_count(statement)) != params.size())
    throw Error("SQL_ERROR", "the statement wants " + std::to_string(sqlite3_bind_parameter_count(statement)) +
                                 " parameters and was given " + std::to_string(params.size()));
  for (std::size_t i = 0; i < params.size(); ++i) bind(statement, static_cast<int>(i) + 1, params[i]);
  int code = SQLITE_OK;
  const bool reads = sqlite3_stmt_readonly(statement) != 0;
  Rows rows = collect(statement, code);
  if (code != SQLITE_DONE) fail(code);
  if (reads || rows.columns() != 0) return rows;
  return Rows({}, 0, sqlite3_changes64(db_.get()), nullptr);
}

void Connection::control(const char* sql) {
  own_ = true;
  struct Guard {
    bool& own;
    ~Guard() { own = false; }
  } guard{own_};
  step(prepared(sql), {});
}

bool Connection::has_deferred_violations() const {
  int current = 0, high = 0;
  sqlite3_db_status(db_.get(), SQLITE_DBSTATUS_DEFERRED_FKS, &current, &high, 0);
  return current != 0;
}

int Connection::note_log(void* self, sqlite3*, const char*, int pages) {
  static_cast<Connection*>(self)->log_pages_ = pages;
  static_cast<Connection*>(self)->stored_ = true;
  return SQLITE_OK;
}

void Connection::checkpoint_if_long() {
  if (log_pages_ < kLogPagesMax) return;
  const int code = sqlite3_wal_checkpoint_v2(db_.get(), nullptr, SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
  if (code == SQLITE_FULL || (code & 0xff) == SQLITE_IOERR) fail(code);
}

// A quota and a file that may not grow are a full disk as well; SQLite counts them as errors.
bool Connection::is_no_room(int code) const {
  if (code == SQLITE_FULL) return true;
  if (code != SQLITE_IOERR_WRITE) return false;
  const int cause = sqlite3_system_errno(db_.get());
  return cause == ENOSPC || cause == EDQUOT || cause == EFBIG;
}

void Connection::fail(int code) {
  const std::string text = error_text() + " (SQLite " + std::to_string(code) + ")";
  if (is_no_room(code)) {
    no_room_ = true;
    throw Unavailable("DISK_FULL", "the disk is full, make room and try again: " + text);
  }
  switch (code & 0xff) {
    case SQLITE_CONSTRAINT:
      if (code == SQLITE_CONSTRAINT_UNIQUE || code == SQLITE_CONSTRAINT_PRIMARYKEY || code == SQLITE_CONSTRAINT_ROWID)
        throw Conflict("UNIQUE_VIOLATION", text);
      throw Conflict("CONSTRAINT_VIOLATION", text);
    case SQLITE_BUSY:
    case SQLITE_LOCKED: throw LockTimeout("LOCK_TIMEOUT", text);
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_NOMEM:
      throw Unavailable("DATABASE_UNAVAILABLE", file_of(db_.get()) + " fails: " + text + system_error(db_.get()));
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      throw Corrupt("DATABASE_CORRUPT", file_of(db_.get()) + " is damaged: " + text +
                                            "; stop the server, keep a copy of it, and put back the last good one");
    case SQLITE_READONLY: throw Error("WRITE_IN_READ", "writing inside of read() is refused: use write()");
    case SQLITE_AUTH:
      throw Error("TRANSACTION_CONTROL",
                  "transaction control and PRAGMA are the store's own: use Database::write and Transaction::savepoint");
    default: throw Error("SQL_ERROR", text);
  }
}

}  // namespace skald::sqlite
