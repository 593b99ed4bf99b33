// first_saga DATABASE [ORDER QUANTITY]
// Places an order, goes on with every order that is under way, and tells their stories.
// DATABASE is a file, or a postgresql:// URL. BANK_TAKES=N: the bank's answer takes N seconds.
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <thread>

#include "place_order.h"
#include "skald/engine.h"

// The bank: a file outside of the database that has one line for each key.
void charge(const std::string& key, std::int64_t amount) {
  if (amount > 300) throw skald::Refused("DECLINED", "the card has a limit of 300");
  std::ifstream known("bank.txt");
  for (std::string line; std::getline(known, line);)
    if (line.starts_with(key + " ")) return;  // asked before: the same answer
  std::ofstream("bank.txt", std::ios::app) << key << " " << amount << std::endl;
  const char* seconds = std::getenv("BANK_TAKES");
  std::this_thread::sleep_for(std::chrono::seconds(seconds != nullptr ? std::atoi(seconds) : 0));
}

std::vector<skald::SagaView> orders(skald::Engine& engine) {
  return engine.database().read_result([&](skald::Transaction& tx) { return engine.sagas().list(tx, {}); });
}

bool all_ended(const std::vector<skald::SagaView>& sagas) {
  for (const skald::SagaView& saga : sagas)
    if (!skald::has_ended(saga.status)) return false;
  return true;
}

int main(int argc, char** argv) {
  const std::string where = argc > 1 ? argv[1] : "shop.db";
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  const skald::Env env{*clock, *random, skald::silent_observer()};
  const auto db = where.starts_with("postgresql://") ? skald::open_postgres(env, {.url = where})
                                                     : skald::open_sqlite(env, {.path = where});
  create_shop(*db);

  const auto saga = place_order(charge);
  skald::Engine engine(env, *db, {});
  engine.sagas().add(saga);
  engine.start();

  if (argc > 3) engine.sagas().start(saga, PlaceOrder{"lamp", std::atoi(argv[3])}, {.key = argv[2]});
  while (!all_ended(orders(engine))) std::this_thread::sleep_for(std::chrono::milliseconds(50));

  for (const skald::SagaView& order : orders(engine)) {
    std::cout << *order.key << ": " << skald::enum_name(order.status) << "\n";
    for (const skald::StepView& step : order.steps)
      std::cout << "  " << step.name << " " << step.status << (step.error ? " " + *step.error : "") << "\n";
  }
}
