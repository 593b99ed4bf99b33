// The booking system as it is deployed where nothing may stand alone: a PostgreSQL primary with a synchronous standby, a
// cluster of three NATS servers, and a process for each service. Each may be killed, stopped and put back. All of it ends
// with this process, however that ends. For the thread that made it.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "chaos/service_process.h"
#include "support/nats_cluster.h"
#include "support/replicated_postgres.h"

namespace skald::chaos {

class BookingCluster {
 public:
  static constexpr std::array kServices = {"booking", "course", "notify", "user-api"};
  static constexpr std::array kDatabases = {"booking", "course", "notify"};

  // `program` is a skald, this version's where it is empty. Throws std::runtime_error where not all of it becomes ready.
  explicit BookingCluster(const std::string& program = "");

  std::uint16_t gateway() const { return services_.back()->port(); }
  // Leads to the primary, whichever that is.
  std::string database_url(const std::string& service) const { return postgres_.url(service); }
  test::ReplicatedPostgres& postgres() { return postgres_; }
  test::NatsCluster& nats() { return nats_; }
  ServiceProcess& service(std::size_t which) { return *services_[which]; }

  ServiceProcess& service(const std::string& name);

  // Each process says that it is.
  bool is_ready() const;
  void wait_until_ready();
  // As a supervisor does it: starts those again that have ended by themselves. Tells who was ended by a signal, with the
  // end of its log; `ended` counts the others, which found no database.
  std::vector<std::string> revive(std::size_t& ended);
  // What the processes have logged of that level, by its message.
  std::map<std::string, std::int64_t> logged(const std::string& level) const;

 private:
  void make_databases() const;

  test::TemporaryFolder folder_;
  test::CleanupProcess cleanup_{"rm -rf " + folder_.path().string()};
  test::ReplicatedPostgres postgres_{test::ReplicatedPostgres::Commits::synchronous};
  test::NatsCluster nats_;
  std::vector<std::unique_ptr<ServiceProcess>> services_;  // in the order of kServices
};

}  // namespace skald::chaos
