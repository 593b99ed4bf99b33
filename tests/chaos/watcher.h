// The observer's own questions to the database.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "skald/database.h"

namespace skald::chaos {

class Watcher {
 public:
  explicit Watcher(const std::string& url, const std::string& schema = "")
      : db_(open_postgres({*clock_, *random_, silent_observer()}, {.url = url, .schema = schema, .connections = 2})) {}

  template <class... Args>
  std::int64_t number(std::string_view sql, const Args&... args) {
    return db_->read_result([&](Transaction& tx) { return tx.query(sql, args...).template get<std::int64_t>(0, 0); });
  }
  std::vector<std::string> texts(std::string_view sql) {
    return db_->read_result([&](Transaction& tx) {
      const Rows rows = tx.query(sql);
      std::vector<std::string> out;
      for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<std::string>(i, 0));
      return out;
    });
  }
  // On the server: this process has nothing to wait with.
  void pause(int milliseconds) {
    db_->read([&](Transaction& tx) { tx.query("SELECT pg_sleep($1 / 1000.0)", milliseconds); });
  }
  // A session of that process waits inside of a transaction for what it will say next.
  bool inside_of_transaction(std::int64_t pid) {
    return number(
               "SELECT COUNT(*) FROM pg_stat_activity a, skald_worker w WHERE w.pid = $1 AND a.state = "
               "'idle in transaction' AND a.datname = current_database() AND "
               "position('\"pid\":' || a.pid || ',' in w.sessions) > 0",
               pid) > 0;
  }

 private:
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  std::unique_ptr<Database> db_;
};

inline double seconds_since(std::chrono::steady_clock::time_point begun) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
}

}  // namespace skald::chaos
