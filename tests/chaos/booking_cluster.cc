#include "chaos/booking_cluster.h"

#include <sys/wait.h>

#include <algorithm>
#include <fstream>
#include <stdexcept>

#include "chaos/watcher.h"
#include "end_to_end/skald_process.h"
#include "runtime/wakeup.h"
#include "support/built.h"

namespace skald::chaos {
namespace {

constexpr double kUpWithin = 60;

bool says_ready(const ServiceProcess& service) {
  try {
    return service.runs() && test::http_request(service.port(), "GET", "/readyz", "", {}, 2).status == 200;
  } catch (const std::runtime_error&) {
    return false;  // it is not there yet, or waits for somebody who is not
  }
}

// A line may be cut short: whoever wrote it was killed.
std::string message_of(const std::string& line) {
  constexpr std::string_view mark = "\"message\":\"";
  const std::size_t at = line.find(mark);
  if (at == line.npos) return "?";
  return line.substr(at + mark.size(), line.find('"', at + mark.size()) - at - mark.size());
}

}  // namespace

BookingCluster::BookingCluster(const std::string& program) {
  make_databases();
  for (const std::string name : kServices) {
    std::vector<std::string> arguments{"--services", name, "--bus", nats_.urls()};
    ServiceProcess::Variables variables;
    if (name == "user-api") arguments.insert(arguments.end(), {"--http-threads", "256"});  // they only wait for answers
    else variables["SKALD_DB"] = database_url(name);
    services_.push_back(std::make_unique<ServiceProcess>(program.empty() ? built::kProgram : program,
                                                         folder_.path() / name, arguments, variables));
  }
  wait_until_ready();
}

ServiceProcess& BookingCluster::service(const std::string& name) {
  return *services_[static_cast<std::size_t>(std::ranges::find(kServices, name) - kServices.begin())];
}

void BookingCluster::wait_until_ready() {
  const auto begun = std::chrono::steady_clock::now();
  while (!is_ready()) {
    std::size_t ended = 0;
    revive(ended);
    if (seconds_since(begun) > kUpWithin) {
      std::string words;
      for (const auto& service : services_) words += "\n" + service->last_words();
      throw std::runtime_error("the booking system did not become ready; the ends of its logs:" + words);
    }
    runtime::Wakeup().wait(100ms);
  }
}

void BookingCluster::make_databases() const {
  const auto clock = system_clock();
  const auto random = system_random();
  const auto db = open_postgres({*clock, *random, silent_observer()}, {.url = postgres_.url(), .connections = 1});
  for (const std::string name : kDatabases) db->query_alone("CREATE DATABASE " + name);
}

bool BookingCluster::is_ready() const {
  return std::ranges::all_of(services_, [](const auto& service) { return says_ready(*service); });
}

std::vector<std::string> BookingCluster::revive(std::size_t& ended) {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < services_.size(); ++i) {
    const auto status = services_[i]->revive();
    if (!status) continue;
    if (WIFEXITED(*status)) ++ended;
    else out.push_back(std::string(kServices[i]) + " died by itself: " + services_[i]->last_words());
  }
  return out;
}

std::map<std::string, std::int64_t> BookingCluster::logged(const std::string& level) const {
  std::map<std::string, std::int64_t> out;
  for (const auto& service : services_) {
    std::ifstream log(service->folder() / "log");
    for (std::string line; std::getline(log, line);)
      if (line.find("\"level\":\"" + level + "\"") != line.npos) ++out[message_of(line)];
  }
  return out;
}

}  // namespace skald::chaos
