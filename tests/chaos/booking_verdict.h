// What must be true of the booking system after chaos, asked of its databases and of its own checks.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "chaos/booking_cluster.h"
#include "chaos/booking_traffic.h"
#include "chaos/watcher.h"
#include "runtime/signals.h"

namespace skald::chaos {

class BookingVerdict {
 public:
  // Everything is up again, and the traffic has stopped.
  BookingVerdict(const BookingCluster& cluster, const BookingTraffic& traffic);

  // Waits until nothing is under way, as long as that goes on; false where the program was asked to end meanwhile.
  bool settle(runtime::StopSignals& stop);
  // Prints what it counts.
  void judge();
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  std::int64_t under_way();
  void judge_bookings();
  void judge_times();
  void judge_telling();
  void judge_queues();
  void judge_invariants();
  void judge_logs();
  void print(const char* what, std::int64_t count) const;
  Watcher& booking() { return *watchers_[0]; }
  Watcher& notify() { return *watchers_[2]; }

  const BookingCluster& cluster_;
  const BookingTraffic& traffic_;
  std::vector<std::unique_ptr<Watcher>> watchers_;  // one per database, in the order of kDatabases
  std::vector<std::string> faults_;
};

}  // namespace skald::chaos
