// Databases for tests: a new one for each, gone at its end.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "skald/database.h"

namespace skald::test {

// A folder of its own under the system's place for temporary files.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

// A new, empty database on the server that SKALD_TEST_PG names (postgresql://…,
// where the user may CREATE DATABASE). At its end its sessions end, too; the next one of this process may be
// the same database, emptied. The process drops it.
// Throws std::runtime_error with a sentence where the variable is not set.
class ScratchPostgres {
 public:
  ScratchPostgres();
  ~ScratchPostgres();
  ScratchPostgres(const ScratchPostgres&) = delete;
  ScratchPostgres& operator=(const ScratchPostgres&) = delete;

  // For PostgresOptions::url; also what a second program would be started with.
  const std::string& url() const { return url_; }

  // From here on nobody can connect to it.
  void drop();

 private:
  std::string name_;
  std::string url_;
};

// One Database on a new, empty database of either kind. Members may be used to
// open it a second time, as another program would (PostgreSQL). Where SKALD_TEST_PGBOUNCER is set (host:port),
// transactions on PostgreSQL go through that pooler.
class TestDatabase {
 public:
  static std::unique_ptr<TestDatabase> sqlite(Env env, SqliteOptions options = {});
  static std::unique_ptr<TestDatabase> postgres(Env env, PostgresOptions options = {});
  static std::unique_ptr<TestDatabase> of(Dialect dialect, Env env) {
    return dialect == Dialect::sqlite ? sqlite(env) : postgres(env);
  }

  Database& operator*() const { return *database_; }
  Database* operator->() const { return database_.get(); }
  // SQLite: the file. PostgreSQL: the URL.
  const std::string& address() const { return address_; }
  // Closes it and opens the same data again, as a restart would.
  void reopen();

 private:
  TestDatabase() = default;

  std::unique_ptr<TemporaryFolder> folder_;
  std::unique_ptr<ScratchPostgres> server_;
  std::string address_;
  std::function<std::unique_ptr<Database>()> open_;
  std::unique_ptr<Database> database_;
};

}  // namespace skald::test
