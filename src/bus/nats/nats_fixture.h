// What the tests of the NATS bus share: an Env of their own, and a second client
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
#include "bus/cloud_event_reader.h"
#include "bus/nats/nats_bus.h"
#include "bus/nats/stream.h"
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

inline NatsBusOptions bus_options(const std::string& url, const std::string& topic) {
  NatsBusOptions options;
  options.connection.urls = {url};
  options.stream.topic = topic;
  return options;
}

struct Stored {
  std::string subject, id, body;
};

// Another client of the server. Every failure is a std::runtime_error.
// Ids and texts of the events in a message; one alone has the id of the message.
inline std::vector<std::pair<std::string, std::string>> events_in(const std::string& id, const std::string& body) {
  const auto texts = split_cloud_events(body);
  if (texts.size() == 1) return {{id, body}};
  std::vector<std::pair<std::string, std::string>> out;
  for (const std::string_view text : texts) out.emplace_back(read_cloud_event(text).event.id, text);
  return out;
}

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

  boost::json::object ask(const std::string& subject, const std::string& body = {}) {
    natsMsg* reply = nullptr;
    check(natsConnection_Request(&reply, connection_, ("$JS.API." + subject).c_str(), body.data(),
                                 static_cast<int>(body.size()), 5000));
    const auto parsed = boost::json::parse(
        std::string_view(natsMsg_GetData(reply), static_cast<std::size_t>(natsMsg_GetDataLength(reply))));
    natsMsg_Destroy(reply);
    return parsed.as_object();
  }

  // `more` is put into the configuration ("\"retention\":\"workqueue\"").
  void make_stream(const std::string& name, const std::vector<std::string>& subjects, const std::string& more = {}) {
    std::string config = "{\"name\":\"" + name + "\",\"storage\":\"file\",\"num_replicas\":1,\"subjects\":[";
    for (const std::string& subject : subjects) config += (config.back() == '[' ? "\"" : ",\"") + subject + "\"";
    config += "]" + (more.empty() ? "" : "," + more) + "}";
    const auto answer = ask("STREAM.CREATE." + name, config);
    if (answer.contains("error")) throw std::runtime_error(boost::json::serialize(answer));
  }
  std::string stream_config(const std::string& topic) {
    return boost::json::serialize(ask("STREAM.INFO." + nats_stream(topic)).at("config"));
  }

  // Every event in the topic's stream, oldest first.
  std::vector<Stored> stored(const std::string& topic) {
    std::vector<Stored> out;
    const auto info = ask("STREAM.INFO." + nats_stream(topic));
    for (auto at = number_in(info, {"state", "first_seq"}); at <= number_in(info, {"state", "last_seq"}); ++at) {
      const auto answer = ask("STREAM.MSG.GET." + nats_stream(topic), "{\"seq\":" + std::to_string(at) + "}");
      if (answer.contains("error")) continue;
      const std::string body = base64_decode(text_in(answer, {"message", "data"}));
      for (const auto& [id, text] : events_in(stored_message_id(answer), body))
        out.push_back({text_in(answer, {"message", "subject"}), id, text});
    }
    return out;
  }
  std::vector<std::string> stored_ids(const std::string& topic) {
    std::vector<std::string> out;
    for (const Stored& one : stored(topic)) out.push_back(one.id);
    return out;
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
