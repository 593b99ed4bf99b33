#include "support/test_database.h"

#include <libpq-fe.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <stdexcept>

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

void run_on_server(const std::string& sql) {
  const std::unique_ptr<PGconn, void (*)(PGconn*)> connection(PQconnectdb(server_url().c_str()), PQfinish);
  PQsetNoticeReceiver(connection.get(), [](void*, const PGresult*) {}, nullptr);
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(connection.get(), sql.c_str()), PQclear);
  if (PQresultStatus(result.get()) != PGRES_COMMAND_OK)
    throw std::runtime_error("the server of SKALD_TEST_PG refused: " + std::string(PQerrorMessage(connection.get())));
}

// postgresql://user@host:port/old?options with another database in it.
std::string with_database(const std::string& url, const std::string& name) {
  const auto host = url.find("://");
  if (host == std::string::npos) throw std::runtime_error("SKALD_TEST_PG must begin with postgresql://");
  const auto question = std::min(url.find('?'), url.size());
  const auto slash = std::min(url.find('/', host + 3), question);
  return url.substr(0, slash) + "/" + name + url.substr(question);
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

ScratchPostgres::ScratchPostgres() : name_(unique_name()), url_(with_database(server_url(), name_)) {
  run_on_server("DROP DATABASE IF EXISTS " + name_ + " WITH (FORCE)");  // left by a killed run with our pid
  run_on_server("CREATE DATABASE " + name_ + " TEMPLATE template0 ENCODING 'UTF8'");
}

ScratchPostgres::~ScratchPostgres() {
  try {
    run_on_server("DROP DATABASE " + name_ + " WITH (FORCE)");
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s stays behind: %s\n", name_.c_str(), error.what());
  }
}

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
  out->open_ = [env, options] { return open_postgres(env, options); };
  out->database_ = out->open_();
  return out;
}

void TestDatabase::reopen() {
  database_.reset();
  database_ = open_();
}

}  // namespace skald::test
