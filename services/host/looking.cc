#include "host/looking.h"

#include <sqlite3.h>

#include <filesystem>
#include <memory>
#include <optional>

#include "host/databases.h"
#include "skald/json.h"

namespace skald::host {
namespace {

namespace fs = std::filesystem;

struct Component {
  std::string component;
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Component, (), (component, version))

struct Seen {
  std::string service, database;
  std::vector<Component> schema;
  std::int64_t pending = 0, dead_letters = 0;
  std::optional<std::string> unread;  // why nothing can be told of it
};
BOOST_DESCRIBE_STRUCT(Seen, (), (service, database, schema, pending, dead_letters, unread))

struct SeenAll {
  std::vector<Seen> services;
};
BOOST_DESCRIBE_STRUCT(SeenAll, (), (services))

// All as text, the one type that every reader has.
constexpr const char* kComponents =
    "SELECT component, CAST(MAX(version) AS TEXT) FROM skald_schema GROUP BY component ORDER BY component";
constexpr const char* kPending = "SELECT CAST(COUNT(*) AS TEXT) FROM skald_outbox WHERE live = 1";
constexpr const char* kDead = "SELECT CAST(COUNT(*) AS TEXT) FROM skald_dead_letter WHERE state = 'DEAD'";

using Table = std::vector<std::vector<std::string>>;

template <class Query>
void fill(Seen& seen, Query&& query) {
  for (const auto& row : query(kComponents)) seen.schema.push_back({row[0], std::stoll(row[1])});
  seen.pending = std::stoll(query(kPending)[0][0]);
  seen.dead_letters = std::stoll(query(kDead)[0][0]);
}

// Read as it is: SQLite is told that the file does not change, so that it makes no file beside it.
Table sqlite_rows(sqlite3* db, const char* sql, const std::string& path) {
  sqlite3_stmt* raw = nullptr;
  int code = sqlite3_prepare_v2(db, sql, -1, &raw, nullptr);
  const std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> statement(raw, sqlite3_finalize);
  Table out;
  while (code == SQLITE_OK && (code = sqlite3_step(raw)) == SQLITE_ROW) {
    out.emplace_back();
    for (int i = 0; i < sqlite3_column_count(raw); ++i) {
      const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(raw, i));
      out.back().emplace_back(text == nullptr ? "" : text);
    }
    code = SQLITE_OK;
  }
  if (code != SQLITE_DONE)
    throw Corrupt("DATABASE_CORRUPT", "the database file " + path + " cannot be read: " + sqlite3_errmsg(db) +
                                          "; put back a copy that can");
  return out;
}

void look_at_file(const fs::path& path, Seen& seen) {
  std::error_code none;
  if (const auto size = fs::file_size(path.string() + "-wal", none); !none && size > 0) {
    seen.unread = path.string() + " was not closed by who wrote it last; `skald serve` brings it up to date";
    return;
  }
  std::string name = "file:";
  for (const char c : path.string()) name += c == '?' ? "%3f" : c == '#' ? "%23" : c == '%' ? "%25" : std::string(1, c);
  sqlite3* raw = nullptr;
  const int code =
      sqlite3_open_v2((name + "?immutable=1").c_str(), &raw, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI, nullptr);
  const std::unique_ptr<sqlite3, int (*)(sqlite3*)> db(raw, sqlite3_close);
  if (code != SQLITE_OK)
    throw Unavailable("DATABASE_UNAVAILABLE", "cannot open the database file " + path.string() + ": " +
                                                  sqlite3_errmsg(raw) + "; check its owner and permissions");
  fill(seen, [&](const char* sql) { return sqlite_rows(raw, sql, path.string()); });
}

// False where the part was never set up here.
bool look_at_schema(Env env, const cli::Settings& settings, Part part, Seen& seen) {
  const auto db = open_database(env, settings, part);
  return db->read_result([&](Transaction& tx) {
    // Not to_regclass: what lies in the user's own schema is another part's.
    const bool there = tx.query(
                             "SELECT COUNT(*) FROM information_schema.tables WHERE table_name = 'skald_schema' AND "
                             "table_schema = current_schema()")
                           .get<std::int64_t>(0, 0) > 0;
    if (!there) return false;
    fill(seen, [&](const char* sql) {
      const Rows rows = tx.query(sql);
      Table out;
      for (std::size_t i = 0; i < rows.size(); ++i) {
        out.emplace_back();
        for (std::size_t c = 0; c < rows.columns(); ++c) out.back().push_back(rows.get<std::string>(i, c));
      }
      return out;
    });
    return true;
  });
}

}  // namespace

std::string look_at_databases(Env env, const cli::Settings& settings) {
  SeenAll out;
  for (const Part part : kParts) {
    Seen seen;
    seen.service = part == Part::donation ? "donation-order" : std::string(enum_name(part));
    if (const auto file = database_file(settings, part)) {
      seen.database = "sqlite";
      if (!fs::exists(*file)) continue;
      look_at_file(*file, seen);
    } else {
      seen.database = "postgresql";
      if (settings.text("db") == "memory:" || !look_at_schema(env, settings, part, seen)) continue;
    }
    out.services.push_back(std::move(seen));
  }
  if (out.services.empty())
    throw NotFound("NO_INSTALLATION", "there is no database at " + shown_database(settings) +
                                          "; name the folder with --data, or begin with `skald serve`");
  return to_json(out);
}

}  // namespace skald::host
