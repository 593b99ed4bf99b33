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
  const auto [known, is_first] = troubles_.try_emplace(subscriber, Trouble{{}, env_.clock.now()});
  if (is_first)
    env_.observer.log(Observer::Level::warn, "events for another service wait: " + why, fields_of(subscriber));
  known->second.why = std::move(why);
}

bool Troubles::end(const std::string& subscriber) {
  const std::lock_guard lock(mutex_);
  if (troubles_.erase(subscriber) == 0) return false;
  env_.observer.log(Observer::Level::info, "events for another service go on", fields_of(subscriber));
  return true;
}

std::map<std::string, Trouble> Troubles::all() const {
  const std::lock_guard lock(mutex_);
  return troubles_;
}

}  // namespace skald::post
