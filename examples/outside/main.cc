// outside NATS_URL
// A shop whose orders are read by a program that is not Skald, and that hears of payments from a bank that is not Skald,
// over JetStream. The bank plays both here, so that this runs by itself: it reads the orders and pays for them.
#include <atomic>
#include <iostream>
#include <thread>

#include "skald/engine.h"
#include "skald/id.h"
#include "skald/jetstream.h"

namespace {

using namespace std::chrono_literals;

constexpr int kOrders = 3;

// A stream that is made where it is missing. Debian's nats-server cannot be asked to sync each write, so what is
// acknowledged may be lost when its machine stops: that is accepted here in so many words.
skald::JetStream stream(const std::string& url, const std::string& name) {
  return {.nats = {.urls = {url}},
          .name = name,
          .accept_unsynced = true,
          .make = skald::JetStream::New{.subjects = {name + ".>"}}};
}

// A service with one stream that it writes and one that it reads.
struct Party {
  Party(const skald::Env& env, const std::string& url, const std::string& writes, const std::string& reads)
      : db(skald::open_sqlite(env, {.path = ":memory:"})),
        engine(env, *db, {}),
        bus(skald::jetstream_bus(env, {.stream = stream(url, writes), .subject_prefix = writes + "."})),
        inlet(skald::jetstream_inlet(
            env, {.stream = stream(url, reads), .durable = writes}, [this](auto events) { engine.land(events); },
            [this](auto subject, auto bytes, auto why) { engine.set_aside(subject, bytes, why); })) {}

  std::unique_ptr<skald::Database> db;
  skald::Engine engine;
  std::unique_ptr<skald::Bus> bus;
  std::unique_ptr<skald::Inlet> inlet;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return std::cerr << "usage: outside nats://127.0.0.1:4222\n", 2;
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  const skald::Env env{*clock, *random, skald::silent_observer()};
  const std::string run = skald::make_id(clock->now(), *random);  // streams of its own for each run
  Party shop(env, argv[1], "shop-" + run, "bank-" + run), bank(env, argv[1], "bank-" + run, "shop-" + run);

  std::atomic<int> paid = 0;
  shop.engine.route({.type = "order.placed", .bus = shop.bus.get()});
  shop.engine.receive(*shop.inlet);
  shop.engine.consume(
      {.name = "payments", .type = "order.paid", .handle = [&](skald::Transaction& tx, const auto& event) {
         tx.after_commit([&paid, order = event.event.subject] {
           std::cout << order + " is paid\n";
           ++paid;
         });
       }});

  bank.engine.route({.type = "order.paid", .bus = bank.bus.get()});
  bank.engine.receive(*bank.inlet);
  bank.engine.consume({.name = "bank", .type = "order.placed", .handle = [](skald::Transaction& tx, const auto& event) {
                         tx.emit({.type = "order.paid", .key = event.event.key, .subject = event.event.subject});
                       }});

  shop.engine.start();
  bank.engine.start();
  shop.db->write("place orders", [](skald::Transaction& tx) {
    for (int i = 1; i <= kOrders; ++i)
      tx.emit({.type = "order.placed", .key = "kim", .subject = "order " + std::to_string(i), .payload = "{}"});
  });
  for (int waited = 0; paid < kOrders && waited < 600; ++waited) std::this_thread::sleep_for(100ms);
  bank.engine.stop();
  shop.engine.stop();
  return paid == kOrders ? 0 : 1;
}
