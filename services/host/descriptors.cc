#include "host/descriptors.h"

#include <sys/resource.h>

#include <algorithm>

#include "host/program.h"

namespace skald::host {
namespace {

constexpr std::size_t kEnginesMax = 4;     // each with a database of its own
constexpr std::size_t kFilesOfOthers = 128;  // logs, SQLite's files, NATS, webhooks, the sandbox provider

// Databases' sessions, and one call of each saga that is worked on.
std::size_t reserve_for(const cli::Settings& settings) {
  const auto each = settings.integer("postgres.connections") + settings.integer("sagas.threads");
  return kFilesOfOthers + kEnginesMax * static_cast<std::size_t>(each);
}

}  // namespace

std::size_t raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return 1024;
  if (limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{limit.rlim_max, limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) limit = raised;
  }
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur, 1 << 30));
}

std::size_t connections_within(std::size_t descriptors, std::size_t wanted, std::size_t reserve) {
  const std::size_t left = descriptors > reserve ? descriptors - reserve : 0;
  return std::min(wanted, std::max({left, descriptors / 4, std::size_t{1}}));
}

void fit_connections(std::size_t descriptors, Observer& observer, const cli::Settings& settings,
                     http::ServerOptions& options) {
  const std::size_t wanted = options.connections_max;
  options.connections_max = connections_within(descriptors, wanted, reserve_for(settings));
  if (options.connections_max == wanted) return;
  observer.log(Observer::Level::warn,
               "http.connections_max is more than this process may have open: fewer are taken; raise the limit with "
               "ulimit -n or LimitNOFILE",
               fields({{"wanted", std::to_string(wanted)},
                       {"taken", std::to_string(options.connections_max)},
                       {"openFilesMax", std::to_string(descriptors)}}));
}

}  // namespace skald::host
