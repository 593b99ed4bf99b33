// Both ends of a stream for tests: who sends numbered events, and an inbox that
// remembers ids as the real one does.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "bus/nats/nats_fixture.h"
#include "bus/nats/nats_inlet.h"
#include "conformance/bus_conformance.h"
#include "skald/error.h"

namespace skald::test {

inline constexpr std::uint64_t kEveryPartition = ~std::uint64_t{0};
using IdsByKey = std::map<std::string, std::vector<std::string>>;

inline Message numbered(int number, const std::string& key) {
  Message message = make_message("event-" + std::to_string(number));
  message.event.key = key;
  return message;
}

// Sends through a NatsBus and waits until all is acknowledged.
class NatsSender {
 public:
  static constexpr int kKeys = 9;
  static std::string key(int number) { return "key-" + std::to_string(number % kKeys); }

  NatsSender(const Env& env, const std::string& url, const std::string& topic, std::function<void()> lost = {}) {
    bus = std::make_unique<NatsBus>(env, bus_options(url, topic));
    if (lost) bus->on_loss(std::move(lost));
  }

  // Numbers begin to end-1; what became known as sent by it and before, by key.
  IdsByKey send(int begin, int end) {
    int left = end - begin;
    for (int number = begin; number < end; ++number) send_one(number, left);
    while (left > 0) bus->poll(1s);
    for (int number = begin; number < end; ++number) all_[key(number)].push_back("event-" + std::to_string(number));
    return all_;
  }
  // Each in a message of its own.
  void send_one_by_one(int begin, int end) {
    for (int number = begin; number < end; ++number) send(number, number + 1);
  }
  const IdsByKey& all() const { return all_; }

  // What the outbox would keep of them.
  static std::vector<Message> kept(int begin, int end) {
    std::vector<Message> out;
    for (int number = begin; number < end; ++number) out.push_back(numbered(number, key(number)));
    return out;
  }

  std::unique_ptr<NatsBus> bus;

 private:
  void send_one(int number, int& left) {
    bus->send(numbered(number, key(number)), [this, number, &left](const Outcome& outcome) {
      if (outcome.verdict == Verdict::delivered) return void(--left);
      send_one(number, left);
    });
  }

  IdsByKey all_;
};

class Inbox {
 public:
  int fail_next = 0;                // landings
  bool crash_after_commit = false;  // remembered, and then thrown
  std::string refused;              // the id of an event that can never be landed
  std::vector<std::string> unreadable;

  std::unique_ptr<NatsInlet> open(const Env& env, const std::string& url, const std::string& topic,
                                  const std::string& service, std::uint64_t mask) {
    NatsInletOptions options;
    options.connection.urls = {url};
    options.service = service;
    options.topic = topic;
    auto inlet = std::make_unique<NatsInlet>(
        env, options, [this](std::span<const Message> events) { land(events); },
        [this](std::string_view, std::string_view bytes, std::string_view why) {
          unreadable.push_back(std::string(bytes) + ": " + std::string(why));
        });
    inlet->set_partitions(mask);
    return inlet;
  }

  void poll_until(NatsInlet& inlet, std::size_t events) {
    while (size() < events) inlet.poll(1s);
  }
  // Until the server has seen every acknowledgement.
  void settle(NatsInlet& inlet, NatsPeer&& peer, const std::string& topic) {
    for (int partition = 0; partition < kPartitions; ++partition) {
      const std::string info = "CONSUMER.INFO." + nats_stream(topic) + "." + nats_durable("reader", partition);
      for (;;) {
        const auto answer = peer.ask(info);
        if (number_in(answer, {"num_ack_pending"}) == 0 && number_in(answer, {"num_pending"}) == 0) break;
        inlet.poll(1ms);
      }
    }
  }

  // Over all partitions of the reader.
  static std::uint64_t unacknowledged(NatsPeer&& peer, const std::string& topic) {
    std::uint64_t out = 0;
    for (int partition = 0; partition < kPartitions; ++partition)
      out += number_in(peer.ask("CONSUMER.INFO." + nats_stream(topic) + "." + nats_durable("reader", partition)),
                       {"num_ack_pending"});
    return out;
  }

  std::size_t size() const { return ids_.size(); }
  int duplicates() const { return duplicates_; }
  // Those that came as a second attempt.
  const std::set<std::string>& left_by_another() const { return left_by_another_; }
  const IdsByKey& by_key() const { return by_key_; }

 private:
  void land(std::span<const Message> events) {
    if (fail_next > 0) {
      --fail_next;
      throw std::runtime_error("the database is away");
    }
    for (const Message& message : events)
      if (message.event.id == refused) throw Invalid("INVALID_EVENT", "it has no key");
    for (const Message& message : events) {
      if (message.attempt > 1) left_by_another_.insert(message.event.id);
      if (ids_.insert(message.event.id).second) by_key_[message.event.key].push_back(message.event.id);
      else ++duplicates_;
    }
    if (crash_after_commit) throw std::runtime_error("the process dies");
  }

  std::set<std::string> ids_;
  IdsByKey by_key_;
  int duplicates_ = 0;
  std::set<std::string> left_by_another_;
};

}  // namespace skald::test
