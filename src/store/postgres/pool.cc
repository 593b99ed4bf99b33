#include "store/postgres/pool.h"

namespace skald::postgres {

Pool::Pool(const PostgresOptions& options, ConnectSettings settings)
    : options_(options), settings_(std::move(settings)) {
  if (options_.connections < 1)
    throw Invalid("BAD_POOL_SIZE", "a pool needs at least one connection: set connections to 1 or more");
  slots_.resize(static_cast<std::size_t>(options_.connections));
  for (std::size_t i = slots_.size(); i-- > 0;) free_.push_back(i);
  acquire();
}

Pool::Lease Pool::acquire() {
  const std::size_t index = take_slot();
  Lease lease(*this, index);
  prepare(slots_[index]);
  return lease;
}

std::size_t Pool::take_slot() {
  std::unique_lock lock(mutex_);
  if (!free_.empty()) {  // then nobody waits
    const std::size_t index = free_.back();
    free_.pop_back();
    return index;
  }
  Waiter own;
  waiting_.push_back(&own);
  if (own.told.wait_for(lock, options_.acquire_timeout, [&] { return own.slot.has_value(); })) return *own.slot;
  std::erase(waiting_, &own);
  throw Unavailable("POOL_EXHAUSTED", "all " + std::to_string(options_.connections) +
                                          " connections to the database are in use: allow more or ask less at once");
}

void Pool::prepare(Slot& slot) {
  if (slot.connection != nullptr && slot.connection->usable()) return;
  slot.connection.reset();
  auto connection = std::make_unique<Connection>(settings_, options_.before_statement);
  slot.connection = std::move(connection);
  if (!slot.connection->pooled()) {
    std::lock_guard lock(mutex_);
    slot.open = Open{slot.connection->session(), slot.connection->timeline(), slot.connection->socket()};
  }
  leave_old_primary();
  if (options_.on_connect) options_.on_connect(static_cast<int>(slot.connection->session().pid));
}

void Pool::release(std::size_t index) {
  Slot& slot = slots_[index];
  if (slot.connection != nullptr) slot.connection->renew_plans();
  const bool broken = slot.connection != nullptr && slot.connection->broken();
  if (broken) slot.connection.reset();
  std::lock_guard lock(mutex_);
  if (slot.connection == nullptr) slot.open.reset();
  changed_.notify_one();
  if (waiting_.empty()) {
    free_.push_back(index);
    return;
  }
  Waiter& first = *waiting_.front();
  waiting_.pop_front();
  first.slot = index;
  first.told.notify_one();  // under the lock: it is gone as soon as it sees its slot
}

void Pool::wait_for_change(Duration patience) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, patience);
}

std::size_t Pool::waiting() const {
  std::lock_guard lock(mutex_);
  return waiting_.size();
}

std::vector<Database::Session> Pool::sessions() const {
  std::lock_guard lock(mutex_);
  std::vector<Database::Session> out;
  for (const Slot& slot : slots_)
    if (slot.open) out.push_back(slot.open->session);
  return out;
}

void Pool::leave_old_primary() {
  const Timeline newest = settings_.timeline();
  std::lock_guard lock(mutex_);
  for (const Slot& slot : slots_)
    if (slot.open && slot.open->timeline < newest) slot.open->socket->shut();
}

}  // namespace skald::postgres
