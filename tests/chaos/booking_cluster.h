// The booking system as `./dev cluster` runs it: PostgreSQL, NATS and four processes, each
// of which may be killed and started again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <ios>
#include <string>
#include <vector>

#include "support/nats_store.h"
#include "support/test_database.h"

namespace skald::chaos {

class BookingCluster {
 public:
  // All of it is up; `program` is a skald, this version's where it is empty.
  explicit BookingCluster(const std::string& program = "");
  ~BookingCluster();  // stopped and wiped
  BookingCluster(const BookingCluster&) = delete;
  BookingCluster& operator=(const BookingCluster&) = delete;

  std::uint16_t gateway() const;                              // the port of user-api
  std::string database_url(const std::string& service) const;

  // SIGKILL; PostgreSQL: an immediate stop.
  void kill(const std::string& name) const;
  // SIGTERM, and the service has ended.
  void stop(const std::string& service) const;
  // Positions of consumers, which it writes late, are written.
  void stop_nats_cleanly() const;
  // Starts whatever does not run. std::runtime_error where that cannot be had.
  void up(const std::string& program = "") const;
  test::NatsStore nats_store() const { return test::NatsStore(folder_.path() / "nats"); }

 private:
  // tools/cluster.sh; false where it says no. Services that it starts are of that program.
  bool run(std::vector<std::string> words, const std::string& program = "") const;
  std::string new_lines() const;                   // of what it said since this was last asked

  test::TemporaryFolder folder_;
  mutable std::streamoff read_ = 0;
};

}  // namespace skald::chaos
