// The booking system as it is deployed, under steady bookings and cancellations: services are killed and stopped, NATS
// servers are killed, stopped and wiped, alone and all at once, the PostgreSQL primary is killed or stopped and its standby
// promoted, again and again. Afterwards everything was answered and has come to its end in time, each customer was told
// once, nothing is owed to anybody, and the invariants hold.
#include "chaos/booking_chaos.h"

#include <cstdio>

#include "chaos/booking_blows.h"
#include "chaos/booking_traffic.h"
#include "chaos/booking_verdict.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

constexpr std::size_t kFaultsPrinted = 20;

class BookingStorm {
 public:
  explicit BookingStorm(const Options& options)
      : options_(options),
        traffic_(cluster_.gateway(), options.rate, options.seconds),
        blows_(cluster_, traffic_, signals_, options.seed) {}

  int run() {
    std::printf("seed %u, %d requests a second for %d s\n", options_.seed, options_.rate, options_.seconds);
    rage();
    if (!blows_.goes_on()) return broken_off();
    BookingVerdict verdict(cluster_, traffic_);
    if (!verdict.settle(signals_)) return broken_off();
    std::printf("\n%s\n", blows_.table().c_str());
    verdict.judge();
    const bool good = report(blows_.faults()) & report(verdict.faults());
    std::printf("%s\n", good ? "everything answered, nothing stuck, seats and money add up" : "FAILED");
    return good ? 0 : 1;
  }

 private:
  static int broken_off() {
    std::printf("broken off\n");
    return 1;
  }

  static bool report(const std::vector<std::string>& faults) {
    for (std::size_t i = 0; i < faults.size() && i < kFaultsPrinted; ++i) std::printf("FAULT: %s\n", faults[i].c_str());
    if (faults.size() > kFaultsPrinted) std::printf("and %zu more\n", faults.size() - kFaultsPrinted);
    return faults.empty();
  }

  void rage() {
    traffic_.start();
    const auto begun = steady_clock::now();
    if (options_.each_once) blows_.strike_each_once();
    while (!options_.each_once && blows_.goes_on() && seconds_since(begun) < options_.seconds) {
      blows_.pause(500ms, 3500ms);
      std::printf("%4.0f s  ", seconds_since(begun));
      if (blows_.goes_on()) blows_.strike();
    }
    const auto stopped = steady_clock::now();
    traffic_.stop();
    std::printf("%lld requests in %.0f s, the last answered %.1f s later: %lld cancelled, %lld asked again\n",
                static_cast<long long>(traffic_.sent()), seconds_since(begun), seconds_since(stopped),
                static_cast<long long>(traffic_.cancels()), static_cast<long long>(traffic_.asked_again()));
    for (const auto& [code, count] : traffic_.refused())
      std::printf("  refused: %s %lld\n", code.c_str(), static_cast<long long>(count));
  }

  const Options options_;
  runtime::StopSignals signals_;  // before there are threads
  BookingCluster cluster_;
  BookingTraffic traffic_;
  BookingBlows blows_;
};

}  // namespace

int run_bookings(const Options& options) { return BookingStorm(options).run(); }

}  // namespace skald::chaos
