#include "store/postgres/pool.h"

namespace skald::postgres {

Pool::Pool(const PostgresOptions& options) : options_(options), settings_(options) {
  if (options_.connections < 1)
    throw Invalid("BAD_POOL_SIZE", "a pool needs at least one connection: set connections to 1 or more");
  slots_.resize(static_cast<std::size_t>(options_.connections));
  for (std::size_t i = slots_.size(); i-- > 0;) free_.push_back(i);
  acquire();
}

Pool::Lease Pool::acquire() {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, options_.acquire_timeout, [&] { return !free_.empty(); }))
    throw Unavailable("POOL_EXHAUSTED", "all " + std::to_string(options_.connections) +
                                            " connections to the database are in use: allow more or ask less at once");
  Lease lease(*this, free_.back());
  Slot& slot = slots_[free_.back()];
  free_.pop_back();
  lock.unlock();
  prepare(slot);
  return lease;
}

void Pool::prepare(Slot& slot) {
  if (slot.connection != nullptr && slot.connection->usable()) return;
  slot.connection.reset();
  auto connection = std::make_unique<Connection>(settings_, options_.before_statement);
  const Database::Session session = connection->session();
  slot.connection = std::move(connection);
  {
    std::lock_guard lock(mutex_);
    slot.session = session;
  }
  if (options_.on_connect) options_.on_connect(static_cast<int>(session.pid));
}

void Pool::release(std::size_t index) {
  Slot& slot = slots_[index];
  const bool broken = slot.connection != nullptr && slot.connection->broken();
  if (broken) slot.connection.reset();
  std::lock_guard lock(mutex_);
  if (slot.connection == nullptr) slot.session.reset();
  free_.push_back(index);
  changed_.notify_one();
}

void Pool::wait_for_change(Duration patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience);
}

std::vector<Database::Session> Pool::sessions() const {
  std::lock_guard lock(mutex_);
  std::vector<Database::Session> out;
  for (const Slot& slot : slots_)
    if (slot.session) out.push_back(*slot.session);
  return out;
}

}  // namespace skald::postgres
