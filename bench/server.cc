#include "server.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

#include "saga_order.h"
#include "workload.h"

namespace bench {
namespace {

std::string with_database(const std::string& url, const std::string& database) {
  return url.substr(0, url.rfind('/') + 1) + database;
}

pid_t parent_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with("PPid:")) return static_cast<pid_t>(std::stol(line.substr(5)));
  throw std::runtime_error("the server must run on this machine: its CPU is measured");
}

}  // namespace

Sql::Sql(const std::string& url) : connection_(PQconnectdb(url.c_str())) {
  if (PQstatus(raw()) != CONNECTION_OK) throw std::runtime_error(PQerrorMessage(raw()));
  PQsetNoticeReceiver(raw(), [](void*, const PGresult*) {}, nullptr);
}

void Sql::run(const std::string& sql) { value(sql); }

std::string Sql::value(const std::string& sql) {
  PGresult* result = PQexec(raw(), sql.c_str());
  const auto status = PQresultStatus(result);
  const bool good = status == PGRES_COMMAND_OK || status == PGRES_TUPLES_OK;
  const std::string out = good && PQntuples(result) > 0 && PQnfields(result) > 0 ? PQgetvalue(result, 0, 0) : "";
  PQclear(result);
  if (!good) throw std::runtime_error(sql + ": " + PQerrorMessage(raw()));
  return out;
}

PreparedSql::PreparedSql(const std::string& url, std::span<const Named> statements, bool pipelined)
    : sql_(url), pipelined_(pipelined) {
  for (const auto& [name, text] : statements) affected(PQprepare(sql_.raw(), name, text, 0, nullptr));
  if (pipelined_) PQenterPipelineMode(sql_.raw());
}

int PreparedSql::affected(PGresult* result) {
  const auto status = PQresultStatus(result);
  const std::string touched = PQcmdTuples(result);
  PQclear(result);
  if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_PIPELINE_SYNC)
    throw std::runtime_error(PQerrorMessage(sql_.raw()));
  return touched.empty() ? 0 : std::stoi(touched);
}

void PreparedSql::add(const char* name, std::initializer_list<const char*> values) {
  const int count = static_cast<int>(values.size());
  if (!pipelined_) {
    affected_.push_back(affected(PQexecPrepared(sql_.raw(), name, count, values.begin(), nullptr, nullptr, 0)));
    return;
  }
  if (PQsendQueryPrepared(sql_.raw(), name, count, values.begin(), nullptr, nullptr, 0) == 0)
    throw std::runtime_error(PQerrorMessage(sql_.raw()));
  ++waiting_;
}

std::vector<int> PreparedSql::flush() {
  if (pipelined_) {
    PQpipelineSync(sql_.raw());
    for (; waiting_ > 0; --waiting_) {
      affected_.push_back(affected(PQgetResult(sql_.raw())));
      PQgetResult(sql_.raw());  // the null between two results
    }
    affected(PQgetResult(sql_.raw()));
  }
  return std::exchange(affected_, {});
}

Server::Server(std::string url) : url_(std::move(url)), sql_(url_) {
  postmaster_ = parent_of(sql_.value("SELECT pg_backend_pid()"));
}

std::string Server::create(const std::string& database) {
  if (!has_template_) {
    sql_.run("DROP DATABASE IF EXISTS bench_template");
    sql_.run("CREATE DATABASE bench_template");
    Sql(with_database(url_, "bench_template")).run(kWorkloadSchema);
    Sql(with_database(url_, "bench_template")).run(kOrderSchema);
    Sql(with_database(url_, "bench_template")).run("VACUUM ANALYZE");
    has_template_ = true;
  }
  drop(database);
  sql_.run("CREATE DATABASE " + database + " TEMPLATE bench_template");
  checkpoint();
  return with_database(url_, database);
}

void Server::drop(const std::string& database) { sql_.run("DROP DATABASE IF EXISTS " + database + " WITH (FORCE)"); }

}  // namespace bench
