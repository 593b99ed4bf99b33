// What the tests over NATS share: an Env of their own, and a second client
// that looks at the server from outside.
#pragma once

#include <gtest/gtest.h>
#include <nats/nats.h>

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "support/nats_server.h"

namespace skald::test {

// Goes with the real one, and ahead of it where a test wants time to have passed.
class TestClock final : public Clock {
 public:
  Time now() const override { return real_->now(); }
  Instant steady() const override { return real_->steady() + Duration(ahead_.load()); }
  void advance(Duration by) { ahead_ += by.count(); }

 private:
  std::unique_ptr<Clock> real_ = system_clock();
  std::atomic<std::int64_t> ahead_ = 0;
};

class TestLog final : public Observer {
 public:
  void log(Level, std::string_view message, std::string_view) override {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(message);
  }
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

struct Scene {
  TestClock clock;
  std::unique_ptr<Random> random = system_random();
  TestLog log;
  Env env{clock, *random, log};
};

// Another client of the server. Every failure is a std::runtime_error.
class NatsPeer {
 public:
  explicit NatsPeer(const std::string& url) { check(natsConnection_ConnectTo(&connection_, url.c_str())); }
  ~NatsPeer() { close(); }
  NatsPeer(const NatsPeer&) = delete;
  NatsPeer& operator=(const NatsPeer&) = delete;

  void close() {
    for (natsSubscription* subscription : subscriptions_) {
      natsSubscription_DrainTimeout(subscription, 2000);
      natsSubscription_WaitForDrainCompletion(subscription, 2000);
      natsSubscription_Destroy(subscription);
    }
    subscriptions_.clear();
    natsConnection_Destroy(connection_);
    connection_ = nullptr;
  }

  void publish(const std::string& subject, const std::string& body, const char* reply = nullptr) {
    natsMsg* message = nullptr;
    check(natsMsg_Create(&message, subject.c_str(), reply, body.data(), static_cast<int>(body.size())));
    check(natsConnection_PublishMsg(connection_, message));
    natsMsg_Destroy(message);
    check(natsConnection_Flush(connection_));
  }

  // `handler` runs on a thread of the library.
  void subscribe(const std::string& subject, std::function<void(natsMsg*)> handler) {
    handlers_.push_back(std::move(handler));
    natsSubscription* created = nullptr;
    const auto call = [](natsConnection*, natsSubscription*, natsMsg* message, void* closure) {
      (*static_cast<std::function<void(natsMsg*)>*>(closure))(message);
      natsMsg_Destroy(message);
    };
    check(natsConnection_Subscribe(&created, connection_, subject.c_str(), call, &handlers_.back()));
    subscriptions_.push_back(created);
    check(natsConnection_Flush(connection_));
  }

 private:
  static void check(natsStatus status) {
    if (status != NATS_OK) throw std::runtime_error(natsStatus_GetText(status));
  }

  natsConnection* connection_ = nullptr;
  std::vector<natsSubscription*> subscriptions_;
  std::list<std::function<void(natsMsg*)>> handlers_;
};

}  // namespace skald::test
