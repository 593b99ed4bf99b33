// Wakes event streams when there is something new for them.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace skald::http {

// Topics exist only while somebody subscribes to them: publishing to others
// costs a look-up. A wake-up says "look again" and carries nothing, so that any
// number of them can be one. Thread safe; outlives its subscriptions.
class Publisher {
 public:
  // Unsubscribes when destroyed; after that `wake` is not called any more.
  class Subscription {
   public:
    Subscription(const Subscription&) = delete;
    Subscription& operator=(const Subscription&) = delete;
    ~Subscription();

   private:
    friend class Publisher;
    Subscription(Publisher& publisher, std::function<void()> wake) : publisher_(publisher), wake_(std::move(wake)) {}
    Publisher& publisher_;
    std::function<void()> wake_;
    std::multimap<std::string, Subscription*, std::less<>>::iterator place_;
  };

  // `wake` is called under the publisher's lock, from the publishing thread: it
  // must not block, throw, or call the publisher.
  std::unique_ptr<Subscription> subscribe(std::string topic, std::function<void()> wake);
  void publish(std::string_view topic);
  // Once a second or so: what changed in another process is published by nobody here.
  void publish_all();

 private:
  std::mutex mutex_;
  std::multimap<std::string, Subscription*, std::less<>> subscriptions_;
};

}  // namespace skald::http
