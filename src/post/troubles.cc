#include "post/troubles.h"

#include "skald/json.h"

namespace skald::post {
namespace {

std::string fields_of(const std::string& subscriber) {
  return "\"tag\":\"[Outbox]\",\"subscriber\":" + to_json(subscriber);
}

}  // namespace

void Troubles::note(const std::string& subscriber, std::string why) {
  const std::lock_guard lock(mutex_);
  std::string& known = whys_[subscriber];
  if (known.empty())
    env_.observer.log(Observer::Level::warn, "events for another service wait: " + why, fields_of(subscriber));
  known = std::move(why);
}

bool Troubles::end(const std::string& subscriber) {
  const std::lock_guard lock(mutex_);
  if (whys_.erase(subscriber) == 0) return false;
  env_.observer.log(Observer::Level::info, "events for another service go on", fields_of(subscriber));
  return true;
}

std::map<std::string, std::string> Troubles::all() const {
  const std::lock_guard lock(mutex_);
  return whys_;
}

}  // namespace skald::post
