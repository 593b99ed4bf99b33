// Bookings at a steady rate by `skald demo booking`, a process of its own that sends each when it
// is due, and what the machine did meanwhile, looked at once a second.
#pragma once

#include <boost/describe.hpp>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "booking_site.h"
#include "skald/time.h"

namespace bench {

// What the generator says of itself at its end; see services/host/demo.cc.
struct Told {
  skald::Time begun_at{};
  double seconds = 0, rate = 0;
  std::int64_t sent = 0, booked = 0, confirmed = 0, cancelled = 0, pending = 0;
  std::map<std::string, std::int64_t> refused;
  double p50_ms = 0, p99_ms = 0, worst_ms = 0;
  double late_p99_ms = 0, latest_ms = 0, own_cpu_percent = 0;
  bool invariants_ok = false;
};
BOOST_DESCRIBE_STRUCT(Told, (),
                      (begun_at, seconds, rate, sent, booked, confirmed, cancelled, pending, refused, p50_ms, p99_ms,
                       worst_ms, late_p99_ms, latest_ms, own_cpu_percent, invariants_ok))

struct BookingLoad {
  double rate = 50, seconds = 30;
  int follow_one_in = 1;
};

// What one booking costs beside CPU, all services together.
struct BookingCost {
  double commits = 0, wal_bytes = 0, wal_syncs = 0, nats_bytes_in = 0, nats_bytes_out = 0;
};

struct BookingRun {
  BookingLoad load;
  Told told;
  double confirmed_rate = 0;                  // per second, while bookings came; distributed only
  std::vector<double> backlog;                // per second: live outbox entries of all services, pending bookings
  std::map<std::string, double> cpu_percent;  // of one core, by process, while bookings came
  double others_cpu_percent = 0;              // of whoever else is on the machine
  BookingCost cost;                           // distributed only
};

// Throws where the generator fails, or where seats, money and histories do not add up at its end.
BookingRun run_bookings(const BookingSite& site, const BookingLoad& load);

}  // namespace bench
