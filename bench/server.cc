#include "server.h"

#include <fstream>
#include <sstream>
#include <stdexcept>

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

Server::Server(std::string url) : url_(std::move(url)), sql_(url_) {
  postmaster_ = parent_of(sql_.value("SELECT pg_backend_pid()"));
}

std::string Server::create(const std::string& database) {
  if (!has_template_) {
    sql_.run("DROP DATABASE IF EXISTS bench_template");
    sql_.run("CREATE DATABASE bench_template");
    Sql(with_database(url_, "bench_template")).run(kWorkloadSchema);
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
