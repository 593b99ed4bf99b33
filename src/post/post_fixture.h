// Two services on databases of either kind, driven by hand, and a courier between them that does what a test says.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>

#include "outbox/emitter.h"
#include "outbox/lander.h"
#include "outbox/relay.h"
#include "post/sender.h"
#include "store/tables/schema.h"
#include "store/tables/subscriber_views.h"
#include "support/test_database.h"

namespace skald::post {

class HandClock final : public Clock {
 public:
  Time now() const override { return from_micros(1'800'000'000'000'000) + at.time_since_epoch(); }
  Instant steady() const override { return at; }
  Instant at{Duration(1)};
};

// Counts by name.
class CountingObserver final : public Observer {
 public:
  void count(std::string_view metric, std::int64_t by) override { counts[std::string(metric)] += by; }
  void timing(std::string_view metric, Duration) override { ++counts[std::string(metric)]; }
  std::map<std::string, std::int64_t> counts;
};

// Keeps what is sent until a test delivers it.
class HandCourier final : public Courier {
 public:
  struct Sent {
    std::string to;
    Letter letter;
    Answered answered;
  };
  void send(const std::string& service, Letter letter, Answered answered) override {
    sent.push_back({service, std::move(letter), std::move(answered)});
  }
  void ask(const std::string&, Inquiry inquiry, Known known) override {
    asked.push_back({std::move(inquiry), std::move(known)});
  }
  void poll(Duration, std::span<const int>) override {
    for (auto& [inquiry, known] : std::exchange(asked, {}))
      known(knower ? std::optional(knower(inquiry)) : std::nullopt);
  }

  void on_return(Returned returned) override { come_back = std::move(returned); }

  Returned come_back;
  std::deque<Sent> sent;
  std::vector<std::pair<Inquiry, Known>> asked;
  std::function<Knowledge(const Inquiry&)> knower;
};

// One service. It handles events of types "order.*" that come to it.
class Service {
 public:
  Service(Env env, Dialect dialect, const std::string& name)
      : env_(env), database_(test::TestDatabase::of(dialect, env)) {
    options_.source = "/" + name;
    db().migrate(tables::kComponent, tables::migrations());
    if (name == "there")
      routing_.add(Consumer{.name = name, .type = "order.*", .handle = [this](Transaction&, const Message& message) {
                              handle(message);
                            }});
    db().set_commit_hook(&emitter_);
    membership_.run_once();
    run_relay();
  }
  ~Service() { db().set_commit_hook(nullptr); }

  Database& db() { return **database_; }
  void run_relay() {
    while (relay_.run_once() == Duration::zero()) {}
  }
  void handle(const Message& message) {
    if (message.event.id == refused) throw Refused("NO", "no");
    handled.push_back(message.event.id);
  }
  Entry entry(const std::string& id) {
    return db().read_result([&](Transaction& tx) { return *tables::outbox::find(tx, id); });
  }
  bool has(const std::string& id) {
    return db().read_result([&](Transaction& tx) { return tables::outbox::find(tx, id).has_value(); });
  }
  void change(const std::string& sql) {
    db().write("change", [&](Transaction& tx) { tx.execute(sql); });
  }

  std::vector<std::string> handled;
  std::string refused;

 private:
  Env env_;
  std::unique_ptr<test::TestDatabase> database_;

 public:
  OutboxOptions options_;
  outbox::Routing routing_;
  outbox::Emitter emitter_{options_, routing_, [](std::uint64_t, std::uint64_t) {}};
  dead_letter::Undertaker undertaker_{env_, db(), nullptr, [](std::string_view, std::string_view) {}};
  outbox::Membership membership_{
      env_,
      db(),
      {"host", 1},
      db().dialect() == Dialect::sqlite ? outbox::Membership::Kind::sole : outbox::Membership::Kind::leased,
      options_};
  outbox::Relay relay_{env_, db(), membership_, routing_, undertaker_, options_};
  outbox::Lander lander_{
      env_,   db(),        membership_, routing_,
      relay_, undertaker_, options_,    [this](std::uint64_t partitions) { relay_.wake(partitions); }};
};

// "here" sends to "there".
class PostTest : public testing::TestWithParam<Dialect> {
 protected:
  PostTest() {
    subscribe();
    courier_.knower = [this](const Inquiry& inquiry) { return there_->lander_.answer(inquiry); };
    begin_sender();
    pass(Duration::zero());  // the first beat sees who subscribes
    run();
  }

  void subscribe(const std::vector<std::string>& types = {"order.*"}) {
    here_->db().write("subscribe",
                      [&](Transaction& tx) { tables::subscriber::put(tx, {.name = "there", .types = types}); });
  }
  // As after a restart of its process, whose memory is gone.
  void begin_sender() {
    courier_.sent.clear();
    courier_.asked.clear();
    sender_ = std::make_unique<Sender>(env_, here_->db(), here_->membership_, here_->routing_, here_->options_,
                                       [this](std::string_view code, std::string_view text) {
                                         alerts_.push_back(std::string(code) + " " + std::string(text));
                                       });
    sender_->set_courier(courier_);
  }
  void emit(const std::string& id, const std::string& key = "k", const std::string& type = "order.placed") {
    here_->db().write("emit", [&](Transaction& tx) {
      tx.emit({.id = id, .type = type, .key = key, .subject = "s", .payload = "{}"});
    });
    sender_->wake(~std::uint64_t{0});
  }
  // Until it waits for something.
  void run() {
    while (sender_->run_once() == Duration::zero() || !courier_.asked.empty()) {}
  }
  void pass(Duration time) {
    clock_.at += time;
    const auto beat = here_->membership_.run_once();
    if (beat.subscribers_changed) sender_->look_again();
    sender_->wake(beat.owed);
    there_->membership_.run_once();
  }

  HandCourier::Sent take_sent() {
    HandCourier::Sent out = std::move(courier_.sent.front());
    courier_.sent.pop_front();
    return out;
  }
  Receipt accept(const Letter& letter) { return there_->lander_.accept(std::span(&letter, 1)).front(); }
  void answer(const HandCourier::Sent& sent, Receipt receipt) {
    sent.answered({Courier::Answer::Kind::receipt, std::move(receipt)});
  }
  // All that is sent arrives, and so do the answers, until nothing is.
  void deliver_all() {
    for (run(); !courier_.sent.empty(); run()) {
      const auto sent = take_sent();
      answer(sent, accept(sent.letter));
      pass(100ms);
    }
    there_->run_relay();
  }
  std::int64_t owed() {
    return here_->db().read_result([](Transaction& tx) { return tables::subscriber::views(tx).front().owed; });
  }
  // What a copy of the database that was made before would have.
  void forget_letters(const std::string& of_ids) {
    there_->change("DELETE FROM skald_outbox WHERE id IN (" + of_ids + ")");
    there_->change("DELETE FROM skald_inbox WHERE event_id IN (" + of_ids + ")");
  }

  HandClock clock_;
  std::unique_ptr<Random> random_ = system_random();
  CountingObserver observer_;
  Env env_{clock_, *random_, observer_};
  std::unique_ptr<Service> here_ = std::make_unique<Service>(env_, GetParam(), "here");
  std::unique_ptr<Service> there_ = std::make_unique<Service>(env_, GetParam(), "there");
  HandCourier courier_;
  std::vector<std::string> alerts_;
  std::unique_ptr<Sender> sender_;
};

inline const auto kBothDatabases = testing::Values(Dialect::sqlite, Dialect::postgres);
inline std::string name_of(const testing::TestParamInfo<Dialect>& which) {
  return which.param == Dialect::sqlite ? "sqlite" : "postgres";
}

}  // namespace skald::post
