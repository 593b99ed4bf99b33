// What happens to the booking system under chaos, and how long it takes to be ready again after each.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "chaos/booking_cluster.h"
#include "chaos/booking_traffic.h"
#include "runtime/signals.h"

namespace skald::chaos {

enum class Blow {
  service_killed,
  two_services_killed,
  service_stopped,
  nats_killed,
  nats_stopped,
  nats_wiped,
  all_nats_wiped,
  primary_crashed,           // and started again: nobody is promoted
  primary_killed,            // the standby is promoted
  primary_stopped,           // the same; then it comes back for a while, and nobody stops it
};
std::string name_of(Blow blow);

// For the thread that made the cluster.
class BookingBlows {
 public:
  // `stop`: pauses end with it. `traffic`: whose customers wait meanwhile.
  BookingBlows(BookingCluster& cluster, BookingTraffic& traffic, runtime::StopSignals& stop, unsigned seed);

  // One blow of a shuffled deck, so that each kind comes in its share, and now and then a service or a NATS server that is
  // killed meanwhile. Returns when everything is there and ready again, and prints how long that took.
  void strike();
  // One after the other: each service killed, one NATS server wiped, one promotion.
  void strike_each_once();
  void pause(Duration least, Duration most);
  // False where the program was asked to end.
  bool goes_on() const { return !stopped_; }

  std::string table() const;
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  struct Tally {
    std::vector<double> ready_after, waited;  // seconds
  };

  Blow deal();
  void strike(Blow blow, std::size_t victim);
  void hold(Duration most);
  void strike_meanwhile();
  void strike_nats(Blow blow);
  void strike_postgres(Blow blow);
  double await_ready(const std::string& what);
  void look_after();

  BookingCluster& cluster_;
  BookingTraffic& traffic_;
  runtime::StopSignals& stop_;
  std::mt19937 random_;
  std::vector<Blow> deck_;
  std::map<std::string, Tally> tallies_;
  std::vector<std::string> faults_;
  std::size_t services_meanwhile_ = 0, nats_meanwhile_ = 0, ended_ = 0;
  bool stopped_ = false, meanwhile_ = true;
};

}  // namespace skald::chaos
