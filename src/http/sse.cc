#include "http/sse.h"

namespace skald::http {

Publisher::Subscription::~Subscription() {
  const std::lock_guard lock(publisher_.mutex_);
  publisher_.subscriptions_.erase(place_);
}

std::unique_ptr<Publisher::Subscription> Publisher::subscribe(std::string topic, std::function<void()> wake) {
  std::unique_ptr<Subscription> subscription(new Subscription(*this, std::move(wake)));
  const std::lock_guard lock(mutex_);
  subscription->place_ = subscriptions_.emplace(std::move(topic), subscription.get());
  return subscription;
}

void Publisher::publish(std::string_view topic) {
  const std::lock_guard lock(mutex_);
  const auto [first, last] = subscriptions_.equal_range(topic);
  for (auto place = first; place != last; ++place) place->second->wake_();
}

void Publisher::publish_all() {
  const std::lock_guard lock(mutex_);
  for (const auto& [topic, subscription] : subscriptions_) subscription->wake_();
}

}  // namespace skald::http
