// A relay on a database of either kind, driven by hand, and a bus that does what a test says.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <utility>

#include "outbox/integrity.h"
#include "outbox/relay.h"
#include "store/tables/schema.h"
#include "support/span_listener.h"
#include "support/test_database.h"

namespace skald::outbox {

class StandingClock final : public Clock {
 public:
  Time now() const override { return from_micros(1'800'000'000'000'000); }
  Instant steady() const override { return at; }
  Instant at{Duration(1)};
};

class ScriptedBus final : public Bus {
 public:
  void send(Message message, Done done) override {
    sent.push_back(message.event.id);
    traces.push_back(message.event.traceparent);
    waiting_.push_back(std::move(done));
  }
  void poll(Duration, std::span<const int>) override {
    while (answers && !waiting_.empty()) {
      const Done done = std::move(waiting_.front());
      waiting_.pop_front();
      done(answer);
    }
  }
  std::size_t in_flight() const override { return waiting_.size(); }
  bool is_ready() const override { return ready; }

  bool answers = false;
  Outcome answer;
  bool ready = true;
  std::vector<std::string> sent, traces;

 private:
  std::deque<Done> waiting_;
};

// "both" goes through a consumer and then to the bus, "sent" to the bus, "local" to the consumer.
class RelayTest : public testing::TestWithParam<Dialect> {
 protected:
  RelayTest() {
    db().migrate(tables::kComponent, tables::migrations());
    const auto handle = [this](Transaction&, const Message&) { ++handled_; };
    routing_.add(Consumer{.name = "c", .type = "both", .handle = handle});
    routing_.add(Consumer{.name = "d", .type = "local", .handle = handle});
    routing_.add(Route{.type = "both", .bus = &bus_});
    routing_.add(Route{.type = "sent", .bus = &bus_});
    membership_.run_once();
  }

  Database& db() { return **database_; }
  void emit(const std::string& id, const std::string& type = "both", const std::string& key = "k",
            const std::string& traceparent = "") {
    const Event event{.id = id, .type = type, .key = key, .subject = "s", .payload = "{}", .traceparent = traceparent};
    const tables::outbox::NewEntry entry{&event, content_hash(event, ""), 3};
    db().write("emit", [&](Transaction& tx) { tables::outbox::insert(tx, std::span(&entry, 1)); });
    relay_.wake(std::uint64_t{1} << partition_of(key));
  }
  Entry entry(const std::string& id) {
    return db().read_result([&](Transaction& tx) { return *tables::outbox::find(tx, id); });
  }
  EntryStatus status_of(const std::string& id) { return entry(id).status; }
  void change(const std::string& sql) {
    db().write("change", [&](Transaction& tx) { tx.execute(sql); });
  }
  void lose_everything() { change("UPDATE skald_partition SET owner = 'another', fence = fence + 1"); }
  // Until it has nothing to do.
  void run() {
    while (relay_.run_once() == Duration::zero()) {}
  }

  StandingClock clock_;
  std::unique_ptr<Random> random_ = system_random();
  test::SpanListener spans_;
  Env env_{clock_, *random_, spans_};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::of(GetParam(), env_);
  OutboxOptions options_;
  ScriptedBus bus_;
  Routing routing_;
  int handled_ = 0;
  dead_letter::Undertaker undertaker_{env_, db(), nullptr, [](std::string_view, std::string_view) {}};
  Membership membership_{env_,
                         db(),
                         {"host", 1},
                         GetParam() == Dialect::sqlite ? Membership::Kind::sole : Membership::Kind::leased,
                         options_};
  Relay relay_{env_, db(), membership_, routing_, undertaker_, options_};
};

inline const auto kBothDatabases = testing::Values(Dialect::sqlite, Dialect::postgres);
inline std::string name_of(const testing::TestParamInfo<Dialect>& which) {
  return which.param == Dialect::sqlite ? "sqlite" : "postgres";
}

}  // namespace skald::outbox
