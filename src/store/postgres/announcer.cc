#include "store/postgres/announcer.h"

#include <charconv>
#include <utility>

namespace skald::postgres {
namespace {

Partitions set_of(std::span<const int> partitions) {
  Partitions out;
  for (const int partition : partitions)
    if (partition >= 0 && static_cast<std::size_t>(partition) < out.size())
      out.set(static_cast<std::size_t>(partition));
  return out;
}

}  // namespace

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

std::vector<int> list_of(const Partitions& partitions) {
  std::vector<int> out;
  for (std::size_t i = 0; i < partitions.size(); ++i)
    if (partitions[i]) out.push_back(static_cast<int>(i));
  return out;
}

Announcer::Announcer(Env env, ConnectSettings settings) : env_(env), settings_(std::move(settings)) {
  settings_.set("synchronous_commit", "off");  // a notification has nothing to keep
}

void Announcer::set_waker(std::function<void()> waker) { waker_ = std::move(waker); }

void Announcer::announce(std::span<const int> partitions) {
  const Partitions news = set_of(partitions);
  if (news.none()) return;
  note(news);
  if ((is_one_of_many() || !send_alone()) && waker_) waker_();
}

// The question itself counts.
bool Announcer::is_one_of_many() {
  const Instant now = env_.clock.steady();
  std::lock_guard lock(noted_mutex_);
  const Instant before = std::exchange(asked_[oldest_], now);
  oldest_ = (oldest_ + 1) % kMany;
  return before != Instant{} && now - before < kManyWithin;
}

std::string Announcer::claim_alone(std::span<const int> partitions) {
  if (is_one_of_many()) return {};
  const std::unique_lock sending(sending_mutex_, std::try_to_lock);
  if (!sending || !is_alone()) return {};
  sent_ = env_.clock.steady();
  return write_partitions(set_of(partitions));
}

// What is lost with the connection is found by the listeners' slow poll.
bool Announcer::send_alone() {
  const std::unique_lock sending(sending_mutex_, std::try_to_lock);
  if (!sending || connection_ == nullptr || !is_alone()) return false;
  if (!connection_->usable()) return false;
  const Partitions taken = take_noted();
  if (taken.none()) return true;
  add_notification(taken);
  connection_->dispatch();
  if (connection_->broken()) note(taken);
  return !connection_->broken();
}

bool Announcer::flush() {
  std::lock_guard sending(sending_mutex_);
  const Partitions taken = take_noted();
  if (taken.none()) return false;
  try {
    if (connection_ == nullptr || !connection_->usable())
      connection_ = std::make_unique<Connection>(settings_, nullptr);
    add_notification(taken);
    if (const auto failed = connection_->exchange()) raise(*failed);
  } catch (...) {
    note(taken);
    throw;
  }
  return true;
}

void Announcer::note(const Partitions& partitions) {
  std::lock_guard lock(noted_mutex_);
  noted_ |= partitions;
}

Partitions Announcer::take_noted() {
  std::lock_guard lock(noted_mutex_);
  return std::exchange(noted_, {});
}

void Announcer::add_notification(const Partitions& partitions) {
  const std::string payload = write_partitions(partitions);
  const Param params[] = {payload};
  connection_->add(kNotify, params);
  sent_ = env_.clock.steady();
}

}  // namespace skald::postgres
