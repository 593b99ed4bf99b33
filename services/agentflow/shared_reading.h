// Something that many streams look at and one of them reads: again after it was said to have changed, or once it is old,
// because another process may have changed it.
//
//   SharedReadings<Tail> tails(clock);
//   const auto tail = tails.of(id, [&](const Tail* before) { return read_tail(db, id, before); });
//   tail->get();          // many times: one query
//   tails.changed(id);    // after a commit; then wake who looks
//
// Thread safe. A reading lives as long as somebody holds it.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "skald/env.h"

namespace agentflow {

inline constexpr skald::Duration kReadingOld = std::chrono::milliseconds(800);

template <class T>
class SharedReading {
 public:
  using Read = std::function<T(const T* before)>;  // null: the first time

  SharedReading(const skald::Clock& clock, Read read) : clock_(clock), read_(std::move(read)) {}

  // What the reading throws goes on, and the next one reads again.
  std::shared_ptr<const T> get() {
    const std::lock_guard lock(mutex_);
    const skald::Instant now = clock_.steady();
    // The mark goes before the reading: what changes meanwhile is read the next time.
    if (changed_.exchange(false) || !value_ || now - read_at_ >= kReadingOld) {
      try {
        value_ = std::make_shared<const T>(read_(value_.get()));
      } catch (...) {
        changed_ = true;
        throw;
      }
      read_at_ = now;
    }
    return value_;
  }
  void changed() { changed_ = true; }

 private:
  const skald::Clock& clock_;
  const Read read_;
  std::mutex mutex_;
  std::atomic<bool> changed_ = false;
  std::shared_ptr<const T> value_;
  skald::Instant read_at_{};
};

template <class T>
class SharedReadings {
 public:
  explicit SharedReadings(const skald::Clock& clock) : clock_(clock) {}

  std::shared_ptr<SharedReading<T>> of(const std::string& key, typename SharedReading<T>::Read read) {
    const std::lock_guard lock(mutex_);
    std::erase_if(held_, [](const auto& one) { return one.second.expired(); });
    if (auto known = held_[key].lock()) return known;
    auto made = std::make_shared<SharedReading<T>>(clock_, std::move(read));
    held_[key] = made;
    return made;
  }
  void changed(const std::string& key) {
    const std::lock_guard lock(mutex_);
    const auto found = held_.find(key);
    if (found == held_.end()) return;
    if (const auto reading = found->second.lock()) reading->changed();
  }

 private:
  const skald::Clock& clock_;
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<SharedReading<T>>> held_;
};

}  // namespace agentflow
