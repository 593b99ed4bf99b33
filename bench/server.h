// The PostgreSQL server that everything runs on, used by plain libpq.
#pragma once

#include <libpq-fe.h>
#include <sys/types.h>

#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <utility>
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

// Hand-written code on a connection of its own: prepared statements, each with its
// round trip, or gathered into one by libpq's pipeline.
class PreparedSql {
 public:
  using Named = std::pair<const char*, const char*>;
  PreparedSql(const std::string& url, std::span<const Named> statements, bool pipelined);

  // Runs at once; pipelined: at flush().
  void add(const char* name, std::initializer_list<const char*> values);
  // The rows that each statement since the last flush has touched.
  std::vector<int> flush();

 private:
  int affected(PGresult* result);

  Sql sql_;
  const bool pipelined_;
  std::vector<int> affected_;
  std::size_t waiting_ = 0;
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
