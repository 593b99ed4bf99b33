#include <cstdio>

#include "chaos/storm_traffic.h"
#include "chaos/storm_verdict.h"
#include "upgrade/upgrade.h"

namespace skald::upgrade {
namespace {

constexpr std::size_t kLive = 100;  // of each kind
constexpr int kLatencyMs = 100;     // so that calls are under way whenever somebody ends

class Roll {
 public:
  Roll(const Versions& versions, const Version& first, const Version& second)
      : versions_(versions),
        first_(first),
        second_(second),
        site_({.dialect = Dialect::postgres, .workers = 2, .latency_ms = kLatencyMs, .program = first.program}) {}

  Faults run() {
    chaos::StormTraffic traffic(site_, kLive);
    pause();
    replace(1, second_);
    pause();
    site_.kill(0);
    pause();
    site_.kill(1);
    pause();
    replace(0, second_);
    pause();
    settle(site_, traffic, faults_);
    must_hold(second_);
    if (second_.program != versions_.own.program) replace(0, versions_.own);  // whose answers this program reads
    auto verdict = chaos::judge_storm(site_, traffic.orders(), traffic.donations());
    for (const auto& list : {verdict.faults, verdict.stuck, traffic.refusals()})
      faults_.insert(faults_.end(), list.begin(), list.end());
    std::printf("  %zu orders, %zu donations, %zu requests sent again, %zu parked, %zu dead letters\n",
                traffic.orders().size(), traffic.donations().size(), traffic.sent_again(), verdict.parked,
                verdict.dead_letters);
    return faults_;
  }

 private:
  void pause() { rest_of(site_, versions_.seconds, faults_); }

  // As an operator does: the old one is asked to end, the new one takes its place.
  void replace(std::size_t server, const Version& version) {
    if (const int status = site_.end(server); status != 0)
      faults_.push_back("a server that was asked to end ended with " + std::to_string(status));
    site_.start_as(server, version.program);
    const auto serves = [&] {
      const auto ready = site_.ask(server, "GET", "/readyz");
      return ready && ready->status == 200;
    };
    if (!crash::until(serves, 30s))
      faults_.push_back(version.name + " does not serve beside the other one: " + site_.server(server).last_words());
  }

  void must_hold(const Version& version) {
    for (const char* service : {"order", "donation"}) {
      const auto told = site_.get("/" + std::string(service) + "/invariants");
      if (!json::parse(told).at("ok").as_bool()) faults_.push_back(version.name + " finds broken: " + told);
    }
  }

  const Versions& versions_;
  const Version &first_, &second_;
  chaos::StormSite site_;
  Faults faults_;
};

}  // namespace

void rest_of(chaos::StormSite& site, int seconds, Faults& faults) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(seconds);
  crash::until(
      [&] {
        site.look_after(faults);
        return std::chrono::steady_clock::now() >= end;
      },
      1h);
}

Faults roll(const Versions& versions, const Version& first, const Version& second) {
  std::printf("%s serves, %s takes its place, one server after the other\n", first.name.c_str(), second.name.c_str());
  return Roll(versions, first, second).run();
}

}  // namespace skald::upgrade
