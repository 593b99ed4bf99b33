#include "bus/in_process/in_process_bus.h"

#include <poll.h>

#include <algorithm>

#include "bus/failure.h"
#include "skald/error.h"

namespace skald {
namespace {

void wait_for(Duration wait, std::span<const int> wake) {
  std::vector<pollfd> descriptors;
  descriptors.reserve(wake.size());
  for (int descriptor : wake) descriptors.push_back({descriptor, POLLIN, 0});
  const auto millis = std::chrono::ceil<std::chrono::milliseconds>(std::clamp<Duration>(wait, 0us, 24h)).count();
  // An interrupted wait is a short one, which every caller of poll() must take anyway.
  ::poll(descriptors.data(), descriptors.size(), static_cast<int>(millis));
}

}  // namespace

void InProcessBus::subscribe(std::string pattern, Subscriber subscriber) {
  const std::size_t star = pattern.find('*');
  const bool exact = star == std::string::npos;
  if (pattern.empty() || (!exact && star + 1 != pattern.size()))
    throw Invalid("BAD_PATTERN", "subscribe to an event type or to a prefix that ends in '*', like donation.*");
  if (!exact) pattern.pop_back();
  subscriptions_.push_back({std::move(pattern), exact, std::move(subscriber)});
}

void InProcessBus::send(Message message, Done done) { queue_.push_back({std::move(message), std::move(done)}); }

void InProcessBus::poll(Duration wait, std::span<const int> wake) {
  if (queue_.empty()) return wait_for(wait, wake);
  // What `done` and subscribers send meanwhile waits for the next poll().
  for (std::size_t left = std::min(queue_.size(), kPerPoll); left > 0; --left) {
    Outcome outcome = deliver(queue_.front().message);
    const Done done = std::move(queue_.front().done);
    queue_.pop_front();
    done(std::move(outcome));
  }
}

Outcome InProcessBus::deliver(const Message& message) const {
  Outcome worst;
  for (const Subscription& subscription : subscriptions_) {
    if (!subscription.matches(message.event.type)) continue;
    Outcome outcome;
    try {
      outcome = subscription.subscriber(message);
    } catch (...) {
      outcome = outcome_of_current_exception();
    }
    if (worst.verdict == Verdict::delivered || (worst.verdict == Verdict::refused && outcome.verdict == Verdict::retry))
      worst = std::move(outcome);
  }
  return worst;
}

}  // namespace skald
