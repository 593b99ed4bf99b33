#include "chaos/booking_blows.h"

#include <algorithm>
#include <cstdio>

#include "chaos/watcher.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

// Until a process is back, has its partitions and has found everybody. Whoever waits for a silent NATS server finds out
// by two pings of 10 s.
constexpr double kReadyWithin = 30, kGivenUp = 120;
constexpr Duration kPoll = 100ms;

constexpr std::array kDeck = {Blow::service_killed,  Blow::service_killed,  Blow::two_services_killed,
                              Blow::service_stopped, Blow::service_stopped, Blow::nats_killed,
                              Blow::nats_stopped,    Blow::nats_wiped,      Blow::all_nats_wiped,
                              Blow::primary_crashed, Blow::primary_killed,  Blow::primary_stopped};

}  // namespace

std::string name_of(Blow blow) {
  switch (blow) {
    case Blow::service_killed: return "a service killed";
    case Blow::two_services_killed: return "two services killed";
    case Blow::service_stopped: return "a service stopped for a while";
    case Blow::nats_killed: return "a NATS server killed";
    case Blow::nats_stopped: return "a NATS server stopped for a while";
    case Blow::nats_wiped: return "a NATS server wiped";
    case Blow::all_nats_wiped: return "all NATS servers wiped";
    case Blow::primary_crashed: return "the primary killed, started again";
    case Blow::primary_killed: return "the primary killed, the standby promoted";
    case Blow::primary_stopped: return "the primary stopped, the standby promoted";
  }
  return "";
}

BookingBlows::BookingBlows(BookingCluster& cluster, BookingTraffic& traffic, runtime::StopSignals& stop, unsigned seed)
    : cluster_(cluster), traffic_(traffic), stop_(stop), random_(seed) {}

Blow BookingBlows::deal() {
  if (deck_.empty()) {
    deck_.assign(kDeck.begin(), kDeck.end());
    std::ranges::shuffle(deck_, random_);
  }
  const Blow out = deck_.back();
  deck_.pop_back();
  return out;
}

void BookingBlows::pause(Duration least, Duration most) {
  const auto begun = steady_clock::now();
  const double seconds =
      std::chrono::duration<double>(least).count() +
      std::chrono::duration<double>(most - least).count() * static_cast<double>(random_() % 1000) / 1000;
  while (!stopped_ && seconds_since(begun) < seconds) {
    stopped_ = stop_.wait(std::min(kPoll, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(
                                              std::max(0.001, seconds - seconds_since(begun))))));
    look_after();
  }
}

void BookingBlows::look_after() {
  for (std::string& fault : cluster_.revive(ended_)) faults_.push_back(std::move(fault));
}

// Something is away. It is not the only one, now and then.
void BookingBlows::hold(Duration most) {
  pause(0ms, most / 2);
  if (meanwhile_ && random_() % 4 == 0) strike_meanwhile();
  pause(0ms, most / 2);
}

void BookingBlows::strike_meanwhile() {
  ServiceProcess& service = cluster_.service(random_() % cluster_.kServices.size());
  test::NatsServer& nats = cluster_.nats().at(random_() % cluster_.nats().kServers);
  if (random_() % 2 == 0 && service.runs()) {
    service.kill_and_restart();
    ++services_meanwhile_;
  } else if (nats.runs()) {
    nats.restart();
    ++nats_meanwhile_;
  }
}

void BookingBlows::strike() { strike(deal(), random_() % cluster_.kServices.size()); }

void BookingBlows::strike_each_once() {
  meanwhile_ = false;
  const std::array<std::pair<Blow, std::size_t>, 6> plan = {{{Blow::service_killed, 0},
                                                             {Blow::nats_wiped, 0},
                                                             {Blow::service_killed, 1},
                                                             {Blow::primary_killed, 0},
                                                             {Blow::service_killed, 2},
                                                             {Blow::service_killed, 3}}};
  for (const auto& [blow, victim] : plan) {
    pause(500ms, 1500ms);
    if (!stopped_) strike(blow, victim);
  }
}

void BookingBlows::strike(Blow blow, std::size_t victim) {
  ServiceProcess& service = cluster_.service(victim);
  ServiceProcess& next = cluster_.service((victim + 1) % cluster_.kServices.size());
  std::string what = name_of(blow);
  traffic_.take_longest_wait();
  switch (blow) {
    case Blow::two_services_killed: next.kill(); [[fallthrough]];
    case Blow::service_killed:
      service.kill();
      hold(2s);
      service.start();
      if (!next.runs()) next.start();
      what += std::string(" (") + cluster_.kServices[victim] + ")";
      break;
    case Blow::service_stopped:
      service.freeze();
      hold(8s);
      service.wake();
      what += std::string(" (") + cluster_.kServices[victim] + ")";
      break;
    case Blow::nats_killed:
    case Blow::nats_stopped:
    case Blow::nats_wiped:
    case Blow::all_nats_wiped: strike_nats(blow); break;
    case Blow::primary_crashed:
    case Blow::primary_killed:
    case Blow::primary_stopped: strike_postgres(blow); break;
  }
  Tally& tally = tallies_[name_of(blow)];
  tally.ready_after.push_back(await_ready(what));
  tally.waited.push_back(traffic_.take_longest_wait());
  std::printf("%s; ready again after %.1f s, customers waited for %.1f s; %lld sent\n", what.c_str(),
              tally.ready_after.back(), tally.waited.back(), static_cast<long long>(traffic_.sent()));
  std::fflush(stdout);
}

void BookingBlows::strike_nats(Blow blow) {
  test::NatsCluster& nats = cluster_.nats();
  test::NatsServer& one = nats.at(random_() % nats.kServers);
  if (blow == Blow::nats_stopped) {
    one.freeze();
    hold(random_() % 2 == 0 ? 5s : 60s);
    return one.wake();
  }
  if (blow == Blow::all_nats_wiped) {
    for (std::size_t i = 0; i < nats.kServers; ++i) nats.at(i).stop();
    hold(3s);
    for (std::size_t i = 0; i < nats.kServers; ++i) nats.at(i).wipe(), nats.at(i).start();
    return;
  }
  one.stop();
  hold(3s);
  if (blow == Blow::nats_wiped) one.wipe();
  one.start();
}

void BookingBlows::strike_postgres(Blow blow) {
  test::ReplicatedPostgres& postgres = cluster_.postgres();
  const auto old = postgres.primary();
  if (blow == Blow::primary_crashed) {
    postgres.kill(old);
    hold(2s);
    return postgres.start(old);
  }
  if (blow == Blow::primary_killed) postgres.kill(old);
  else postgres.freeze(old);
  hold(2s);
  postgres.promote();
  hold(6s);
  if (blow == Blow::primary_stopped) {
    postgres.wake(old);
    hold(8s);
  }
  postgres.rejoin();
}

double BookingBlows::await_ready(const std::string& what) {
  const auto begun = steady_clock::now();
  while (!cluster_.is_ready() && seconds_since(begun) < kGivenUp && !stopped_) pause(kPoll, kPoll);
  const double took = seconds_since(begun);
  if (took > kReadyWithin) faults_.push_back("after " + what + " it took " + std::to_string(took) + " s to be ready");
  return took;
}

std::string BookingBlows::table() const {
  std::string out;
  const auto add = [&out](const std::string& name, std::size_t times, const std::string& rest) {
    char line[200];
    std::snprintf(line, sizeof line, "%-45s %5zu | %s\n", name.c_str(), times, rest.c_str());
    out += line;
  };
  const auto median_and_longest = [](std::vector<double> seconds) {
    std::ranges::sort(seconds);
    char text[40];
    std::snprintf(text, sizeof text, "%8.1f %7.1f", seconds[seconds.size() / 2], seconds.back());
    return std::string(text);
  };
  out += "                                                    | ready again, s | customers waited, s\n";
  out += "what was done                                 times |  median longest |  median longest\n";
  for (const auto& [name, tally] : tallies_)
    add(name, tally.ready_after.size(), median_and_longest(tally.ready_after) + " " + median_and_longest(tally.waited));
  add("meanwhile a service killed", services_meanwhile_, "");
  add("meanwhile a NATS server killed", nats_meanwhile_, "");
  add("a process found no database and ended", ended_, "");
  return out;
}

}  // namespace skald::chaos
