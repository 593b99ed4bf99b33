// The PostgreSQL server that everything runs on, used by plain libpq.
#pragma once

#include <libpq-fe.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

namespace bench {

// A connection; every call throws with the server's message where it fails.
class Sql {
 public:
  explicit Sql(const std::string& url);
  void run(const std::string& sql);
  std::string value(const std::string& sql);
  PGconn* raw() { return connection_.get(); }

 private:
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };
  std::unique_ptr<PGconn, Finish> connection_;
};

class Server {
 public:
  explicit Server(std::string url);

  // A new database with the tables of the workload; replaces one of that name.
  std::string create(const std::string& database);
  void drop(const std::string& database);
  void checkpoint() { sql_.run("CHECKPOINT"); }
  pid_t postmaster() const { return postmaster_; }
  std::string version() { return sql_.value("SHOW server_version"); }
  Sql& sql() { return sql_; }

 private:
  std::string url_;
  Sql sql_;
  pid_t postmaster_ = 0;
  bool has_template_ = false;
};

}  // namespace bench
