#include "support/test_database.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

namespace skald::test {
namespace {

std::string server_url() {
  const char* url = std::getenv("SKALD_TEST_PG");
  if (url == nullptr || *url == '\0')
    throw std::runtime_error(
        "SKALD_TEST_PG is not set: run ./test, or set it to a postgresql:// URL of a server for tests");
  return url;
}

std::string unique_name() {
  static std::atomic<int> count = 0;
  return "skald_test_" + std::to_string(getpid()) + "_" + std::to_string(++count);
}

void run(const std::string& url, const std::string& sql) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(url.c_str()), PQfinish);
  PQsetNoticeReceiver(connection.get(), [](void*, const PGresult*) {}, nullptr);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.get(), sql.c_str()), PQclear);
  if (const auto status = PQresultStatus(result.get()); status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK)
    throw std::runtime_error("the server of SKALD_TEST_PG refused: " + std::string(PQerrorMessage(connection.get())));
}

void run_on_server(const std::string& sql) { run(server_url(), sql); }

// postgresql://user@host:port/old?options with another database in it.
std::string with_database(const std::string& url, const std::string& name) {
  const auto host = url.find("://");
  if (host == std::string::npos) throw std::runtime_error("SKALD_TEST_PG must begin with postgresql://");
  const auto question = std::min(url.find('?'), url.size());
  const auto slash = std::min(url.find('/', host + 3), question);
  return url.substr(0, slash) + "/" + name + url.substr(question);
}

// postgresql://user@host:port/database at another address.
std::string with_server(const std::string& url, const std::string& address) {
  const auto begin = url.find('@') + 1;
  return url.substr(0, begin) + address + url.substr(url.find('/', begin));
}

// As DROP DATABASE … WITH (FORCE) and CREATE DATABASE would do it, sixty times faster: nobody is connected any more, and
// every schema is out of the way (products may make their own). What is left of them ends with the process.
constexpr const char* kEmptied = R"(
  SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity
   WHERE datname = current_database() AND pid <> pg_backend_pid();
  DO $$
  DECLARE used record;
  BEGIN
    FOR used IN SELECT oid, nspname FROM pg_namespace
                 WHERE nspname !~ '^(pg_|used_)' AND nspname <> 'information_schema' LOOP
      EXECUTE format('ALTER SCHEMA %I RENAME TO used_%s', used.nspname, used.oid);
    END LOOP;
  END $$;
  CREATE SCHEMA public;)";

// The databases of this process. Each is lent to one ScratchPostgres at a time, so that two that live side by side share
// no advisory lock and no channel.
class Databases {
 public:
  ~Databases() {
    if (getpid() != owner_) return;  // a forked child that ends takes nothing away
    for (const std::string& name : free_) drop(name);
  }

  std::string lend() {
    {
      const std::lock_guard lock(mutex_);
      if (!free_.empty()) {
        std::string name = std::move(free_.back());
        free_.pop_back();
        return name;
      }
    }
    const std::string name = unique_name();
    run_on_server("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)");  // left by a killed run with our pid
    run_on_server("CREATE DATABASE " + name + " TEMPLATE template0 ENCODING 'UTF8'");
    return name;
  }

  void take_back(const std::string& name) {
    try {
      run(with_database(server_url(), name), kEmptied);
      const std::lock_guard lock(mutex_);
      free_.push_back(name);
    } catch (const std::exception&) {
      drop(name);  // a test may have closed it to everybody
    }
  }

  static void drop(const std::string& name) {
    try {
      run_on_server("DROP DATABASE " + name + " WITH (FORCE)");
    } catch (const std::exception& error) {
      std::fprintf(stderr, "%s stays behind: %s\n", name.c_str(), error.what());
    }
  }

 private:
  const pid_t owner_ = getpid();
  std::mutex mutex_;
  std::vector<std::string> free_;
};

Databases& databases() {
  static Databases all;
  return all;
}

}  // namespace

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (std::filesystem::temp_directory_path() / "skald-test-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot create a temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

ScratchPostgres::ScratchPostgres() : name_(databases().lend()), url_(with_database(server_url(), name_)) {}

ScratchPostgres::~ScratchPostgres() {
  if (!name_.empty()) databases().take_back(name_);
}

void ScratchPostgres::drop() { Databases::drop(std::exchange(name_, {})); }

std::unique_ptr<TestDatabase> TestDatabase::sqlite(Env env, SqliteOptions options) {
  std::unique_ptr<TestDatabase> out(new TestDatabase);
  out->folder_ = std::make_unique<TemporaryFolder>();
  options.path = out->address_ = (out->folder_->path() / "skald.db").string();
  out->open_ = [env, options] { return open_sqlite(env, options); };
  out->database_ = out->open_();
  return out;
}

std::unique_ptr<TestDatabase> TestDatabase::postgres(Env env, PostgresOptions options) {
  std::unique_ptr<TestDatabase> out(new TestDatabase);
  out->server_ = std::make_unique<ScratchPostgres>();
  options.url = out->address_ = out->server_->url();
  if (const char* pooler = std::getenv("SKALD_TEST_PGBOUNCER"); pooler != nullptr && options.listen_url.empty()) {
    options.listen_url = options.url;
    options.url = with_server(options.url, pooler);
  }
  out->open_ = [env, options] { return open_postgres(env, options); };
  out->database_ = out->open_();
  return out;
}

void TestDatabase::reopen() {
  database_.reset();
  database_ = open_();
}

}  // namespace skald::test
