// Spans on their way from whoever makes them to the exporter. Bounded: when it is full the
// newest are left out, so that a collector that is away costs neither memory nor time.
//
// Thread safe.
#pragma once

#include <deque>
#include <functional>
#include <mutex>
#include <vector>

#include "skald/trace.h"

namespace skald {

class SpanQueue {
 public:
  static constexpr std::size_t kSpansMax = 2048;
  static constexpr std::size_t kBatchMax = 512;

  // `wake` is called when there is a first span, and when a batch is full; from any thread.
  explicit SpanQueue(std::function<void()> wake = [] {}) : wake_(std::move(wake)) {}

  // False: there is no room, and it is lost.
  bool put(const Span& span);
  // The oldest, up to a batch.
  std::vector<Span> take();
  std::size_t size() const;

 private:
  const std::function<void()> wake_;
  mutable std::mutex mutex_;  // guards spans_
  std::deque<Span> spans_;
};

}  // namespace skald
