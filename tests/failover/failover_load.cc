#include "failover/failover_load.h"

#include <algorithm>

namespace skald::test {

FailoverLoad::FailoverLoad(Database& db, int writers) : db_(db), commits_(static_cast<std::size_t>(writers)) {
  for (std::size_t i = 0; i < commits_.size(); ++i) threads_.emplace_back([this, i] { write_until_stopped(i); });
}

void FailoverLoad::put(Transaction& tx, std::string_view id) { tx.execute("INSERT INTO item VALUES ($1)", id); }

void FailoverLoad::put_witnessed(Transaction& tx, std::string_view id) {
  tx.witness("SELECT 1 FROM item WHERE id = $1", id);
  tx.enqueue("INSERT INTO item VALUES ($1)", id);
}

FailoverLoad::Told FailoverLoad::write(const std::string& id, bool witnessed) {
  try {
    db_.write("load", [&](Transaction& tx) { witnessed ? put_witnessed(tx, id) : put(tx, id); });
    return Told::committed;
  } catch (const CommitUnknown&) {
    return Told::unknown;
  } catch (const Unavailable&) {
    return Told::refused;
  }
}

void FailoverLoad::write_until_stopped(std::size_t writer) {
  for (int number = 0;; ++number) {
    const std::string id = std::to_string(writer) + "-" + std::to_string(number);
    const Told told = write(id, number % 2 == 1);
    std::unique_lock lock(mutex_);
    told_[id] = told;
    commits_[writer] += told == Told::committed;
    changed_.notify_all();
    // Whoever is refused asks again a little later.
    if (told != Told::committed) changed_.wait_for(lock, 50ms, [&] { return stopping_; });
    if (stopping_) return;
  }
}

void FailoverLoad::await_commits(int more) {
  std::unique_lock lock(mutex_);
  std::vector<int> wanted = commits_;
  for (int& count : wanted) count += more;
  changed_.wait(lock, [&] { return std::ranges::equal(commits_, wanted, std::ranges::greater_equal()); });
}

void FailoverLoad::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

std::map<std::string, FailoverLoad::Told> FailoverLoad::told() {
  const std::lock_guard lock(mutex_);
  return told_;
}

}  // namespace skald::test
