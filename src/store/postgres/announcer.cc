#include "store/postgres/announcer.h"

#include <charconv>

namespace skald::postgres {

std::string write_partitions(const Partitions& partitions) {
  std::string out;
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    if (!partitions[i]) continue;
    if (!out.empty()) out += ',';
    out += std::to_string(i);
  }
  return out;
}

Partitions read_partitions(std::string_view text) {
  Partitions out;
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(','));
    std::size_t partition = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), partition);
    if (error == std::errc() && end == word.data() + word.size() && partition < out.size()) out.set(partition);
    text.remove_prefix(std::min(word.size() + 1, text.size()));
  }
  return out;
}

Announcer::Announcer(const PostgresOptions& options) : settings_(options) {
  settings_.set("synchronous_commit", "off");  // a notification has nothing to keep
}

void Announcer::set_waker(std::function<void()> waker) { waker_ = std::move(waker); }

void Announcer::announce(std::span<const int> partitions) {
  {
    std::lock_guard lock(noted_mutex_);
    for (const int partition : partitions)
      if (partition >= 0 && partition < kPartitions) noted_.set(static_cast<std::size_t>(partition));
    if (noted_.none()) return;
  }
  if (waker_) waker_();
}

bool Announcer::flush() {
  std::lock_guard sending(sending_mutex_);
  Partitions taken;
  {
    std::lock_guard lock(noted_mutex_);
    std::swap(taken, noted_);
  }
  if (taken.none()) return false;
  try {
    send(write_partitions(taken));
  } catch (...) {
    std::lock_guard lock(noted_mutex_);
    noted_ |= taken;
    throw;
  }
  return true;
}

void Announcer::send(const std::string& payload) {
  if (connection_ == nullptr || !connection_->usable()) connection_ = std::make_unique<Connection>(settings_, nullptr);
  const Param params[] = {std::string_view(kChannel), payload};
  connection_->add("SELECT pg_notify($1, $2)", params);
  if (const auto failed = connection_->exchange()) raise(*failed);
}

}  // namespace skald::postgres
