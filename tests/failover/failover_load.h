// Writers on one Database who keep what each of their writes came to, to be compared with what is there.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "skald/database.h"

namespace skald::test {

// By its row in the table `item`, which has a text `id`; half of the writes are one round trip with a witness.
class FailoverLoad {
 public:
  enum class Told { committed, refused, unknown };

  FailoverLoad(Database& db, int writers);
  ~FailoverLoad() { stop(); }

  // Returns when each writer has committed that many more.
  void await_commits(int more);
  void stop();
  std::map<std::string, Told> told();  // by id

  static void put(Transaction& tx, std::string_view id);
  static void put_witnessed(Transaction& tx, std::string_view id);

 private:
  void write_until_stopped(std::size_t writer);
  Told write(const std::string& id, bool witnessed);

  Database& db_;
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  bool stopping_ = false;
  std::vector<int> commits_;
  std::map<std::string, Told> told_;
  std::vector<std::thread> threads_;
};

}  // namespace skald::test
