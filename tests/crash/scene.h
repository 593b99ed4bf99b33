// A database, a payment provider in a process of its own, and order processes on both.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "crash/doom.h"
#include "crash/served_process.h"
#include "order/provider_api.h"
#include "order/views.h"
#include "skald/lock_view.h"
#include "skald/saga_view.h"
#include "support/test_database.h"

namespace skald::crash {

// How long a process may believe in its lease, and how soon a call counts as lost.
struct Pace {
  std::int64_t lease_ms = 3000, beat_ms = 1000, call_timeout_ms = 2000;
};

// A provider's books, by the key of each charge.
std::vector<order::Charge> charges_at(const ServedProcess& provider);

class Scene {
 public:
  Scene(Dialect dialect, Pace pace);
  // On a PostgreSQL of the caller's.
  Scene(std::string database, Pace pace);

  // `place`: what a process leaves behind in its folder is for the next one of that place.
  std::unique_ptr<ServedProcess> start(Doom doom = {}, int place = 0) const;
  // The address of the database.
  const std::string& database() const { return database_; }

  ServedProcess& provider() { return *provider_; }
  void behave(const order::Behaviour& behaviour);
  std::vector<order::Charge> charges() const { return charges_at(*provider_); }

 private:
  void start_provider();

  const Pace pace_;
  test::TemporaryFolder folder_;
  std::unique_ptr<test::ScratchPostgres> server_;
  std::string database_;
  std::unique_ptr<ServedProcess> provider_;
};

// The order as a process shows it; none where it does not answer, or knows none.
std::optional<order::OrderView> order_at(const ServedProcess& process, const std::string& id);
void offer(const ServedProcess& process, const std::string& sku, std::int64_t stock);

std::vector<SagaView> sagas_that_need_help(const ServedProcess& process);
// What is wrong once everything has ended: an invariant, a lock, a reservation, a saga
// that needs help. Empty: nothing.
std::vector<std::string> what_is_wrong(const ServedProcess& process);
// What the checker finds in the history of all sagas, each of which has ended.
std::vector<std::string> anomalies(const ServedProcess& process);

void rest(Duration time);
// Until `ready` says so; false after `patience`.
template <class F>
bool until(F&& ready, Duration patience = 20s) {
  const auto end = std::chrono::steady_clock::now() + patience;
  while (!ready()) {
    if (std::chrono::steady_clock::now() > end) return false;
    rest(2ms);
  }
  return true;
}

}  // namespace skald::crash
