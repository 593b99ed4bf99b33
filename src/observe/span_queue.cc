#include "observe/span_queue.h"

#include <algorithm>
#include <iterator>

namespace skald {

bool SpanQueue::put(const Span& span) {
  std::size_t size = 0;
  {
    const std::lock_guard lock(mutex_);
    if (spans_.size() >= kSpansMax) return false;
    spans_.push_back(span);
    size = spans_.size();
  }
  if (size == 1 || size == kBatchMax) wake_();
  return true;
}

std::vector<Span> SpanQueue::take() {
  const std::lock_guard lock(mutex_);
  const auto end = spans_.begin() + static_cast<std::ptrdiff_t>(std::min(spans_.size(), kBatchMax));
  std::vector<Span> out(std::make_move_iterator(spans_.begin()), std::make_move_iterator(end));
  spans_.erase(spans_.begin(), end);
  return out;
}

std::size_t SpanQueue::size() const {
  const std::lock_guard lock(mutex_);
  return spans_.size();
}

}  // namespace skald
