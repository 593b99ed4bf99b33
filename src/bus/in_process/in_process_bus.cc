#include "bus/in_process/in_process_bus.h"

#include <poll.h>

#include <algorithm>
#include <unordered_set>

#include "bus/failure.h"
#include "env/seam.h"
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

Outcome handed(const InProcessBus::Subscriber& subscriber, std::span<const Message> messages) {
  try {
    return subscriber(messages);
  } catch (...) {
    return outcome_of_current_exception();
  }
}

Outcome behind_a_failure() { return Outcome::cut_off("an earlier event of its key was not delivered"); }

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
  if (in_flight() == 0) return wait_for(wait, wake);
  // What `done` and subscribers send meanwhile waits for the next poll().
  std::vector<Message> messages;
  std::vector<Done> callers;
  for (std::size_t left = std::min(queue_.size(), kPerPoll); left > 0; --left) {
    messages.push_back(std::move(queue_.front().message));
    callers.push_back(std::move(queue_.front().done));
    queue_.pop_front();
  }
  std::vector<Outcome> outcomes(messages.size());
  deliver(messages, outcomes);
  end(std::move(messages), std::move(callers), std::move(outcomes));
  while (!ended_.empty()) {
    Ended ended = std::move(ended_.front());
    ended_.pop_front();
    ended.done(std::move(ended.outcome));
  }
}

// Whatever a subscriber said to it: what comes behind one that is not delivered comes again behind it.
void InProcessBus::end(std::vector<Message> messages, std::vector<Done> callers, std::vector<Outcome> outcomes) {
  std::unordered_set<std::string> broken;
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const std::string& key = messages[i].event.key;
    if (broken.contains(key) && seam::holds(seam::Rule::followers_cut_off)) outcomes[i] = behind_a_failure();
    else if (outcomes[i].verdict != Verdict::delivered) broken.insert(key);
    ended_.push_back({std::move(callers[i]), std::move(outcomes[i])});
  }
  if (broken.empty() || !seam::holds(seam::Rule::followers_cut_off)) return;
  std::deque<Queued> left;
  for (Queued& queued : queue_) {
    if (broken.contains(queued.message.event.key)) ended_.push_back({std::move(queued.done), behind_a_failure()});
    else left.push_back(std::move(queued));
  }
  queue_ = std::move(left);
}

void InProcessBus::deliver(std::span<const Message> messages, std::span<Outcome> outcomes) const {
  for (const Subscription& subscription : subscriptions_) {
    std::vector<Message> wanted;
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < messages.size(); ++i) {
      if (!subscription.matches(messages[i].event.type)) continue;
      wanted.push_back(messages[i]);
      places.push_back(i);
    }
    if (wanted.empty()) continue;
    const Outcome together = handed(subscription.subscriber, wanted);
    const bool alone = together.verdict != Verdict::delivered && wanted.size() > 1;
    std::unordered_set<std::string> broken;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const std::string& key = wanted[i].event.key;
      if (broken.contains(key) && seam::holds(seam::Rule::followers_cut_off)) continue;
      const Outcome outcome = alone ? handed(subscription.subscriber, {&wanted[i], 1}) : together;
      if (outcome.verdict != Verdict::delivered) broken.insert(key);
      Outcome& worst = outcomes[places[i]];
      if (worst.verdict == Verdict::delivered ||
          (worst.verdict == Verdict::refused && outcome.verdict == Verdict::retry))
        worst = outcome;
    }
  }
}

}  // namespace skald
