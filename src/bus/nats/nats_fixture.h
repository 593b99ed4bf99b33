// What the tests over NATS share: an Env of their own, and a second client
// that looks at the server from outside.
#pragma once

#include <gtest/gtest.h>
#include <nats/nats.h>

#include <atomic>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <functional>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include "base/hash.h"
#include "bus/nats/jetstream_api.h"
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

  void publish(const std::string& subject, const std::string& body, const char* reply = nullptr,
               const char* id = nullptr) {
    natsMsg* message = nullptr;
    check(natsMsg_Create(&message, subject.c_str(), reply, body.data(), static_cast<int>(body.size())));
    if (id != nullptr) check(natsMsgHeader_Set(message, "Nats-Msg-Id", id));
    check(natsConnection_PublishMsg(connection_, message));
    natsMsg_Destroy(message);
    check(natsConnection_Flush(connection_));
  }

  // The answer of JetStream's API, as it is.
  boost::json::object ask(const std::string& subject, const std::string& body = {}) {
    natsMsg* reply = nullptr;
    check(natsConnection_Request(&reply, connection_, ("$JS.API." + subject).c_str(), body.data(),
                                 static_cast<int>(body.size()), 5000));
    const auto parsed = boost::json::parse(
        std::string_view(natsMsg_GetData(reply), static_cast<std::size_t>(natsMsg_GetDataLength(reply))));
    natsMsg_Destroy(reply);
    return parsed.as_object();
  }
  boost::json::object do_it(const std::string& subject, const std::string& body = {}) {
    auto answer = ask(subject, body);
    if (answer.contains("error")) throw std::runtime_error(boost::json::serialize(answer));
    return answer;
  }

  // `more` is put into the configuration ("\"max_msgs\":5").
  void make_stream(const std::string& name, const std::string& subjects, const std::string& more = {}) {
    do_it("STREAM.CREATE." + name, "{\"name\":\"" + name + "\",\"num_replicas\":1,\"subjects\":[\"" + subjects + "\"]" +
                                       (more.find("\"storage\"") == more.npos ? ",\"storage\":\"file\"" : "") +
                                       (more.empty() ? "" : "," + more) + "}");
  }

  struct Stored {
    std::string subject, id, body;
  };
  // What a stream has, oldest first.
  std::vector<Stored> stored(const std::string& stream) {
    std::vector<Stored> out;
    const auto info = do_it("STREAM.INFO." + stream);
    for (auto at = number_in(info, {"state", "first_seq"}); at <= number_in(info, {"state", "last_seq"}); ++at) {
      const auto answer = ask("STREAM.MSG.GET." + stream, "{\"seq\":" + std::to_string(at) + "}");
      if (answer.contains("error")) continue;
      const std::string headers = base64_decode(text_in(answer, {"message", "hdrs"})), mark = "Nats-Msg-Id: ";
      const std::size_t id = headers.find(mark);
      out.push_back(
          {text_in(answer, {"message", "subject"}),
           id == headers.npos ? "" : headers.substr(id + mark.size(), headers.find("\r\n", id) - id - mark.size()),
           base64_decode(text_in(answer, {"message", "data"}))});
    }
    return out;
  }
  std::vector<std::string> stored_ids(const std::string& stream) {
    std::vector<std::string> out;
    for (const Stored& one : stored(stream)) out.push_back(one.id);
    return out;
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
