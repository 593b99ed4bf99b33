// Three NATS servers of the test's own as a cluster, each of which it stops, starts again and wipes. They end with the
// test, however that ends. One thread at a time.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "support/cleanup_process.h"
#include "support/nats_server.h"

namespace skald::test {

class NatsCluster {
 public:
  static constexpr std::size_t kServers = 3;

  NatsCluster();  // each takes connections
  NatsServer& at(std::size_t server) const { return *servers_[server]; }
  // Of all servers, with commas between them, as `bus` of a service is set.
  std::string urls() const;

 private:
  std::array<std::unique_ptr<NatsServer>, kServers> servers_;
  std::optional<CleanupProcess> cleanup_;
};

}  // namespace skald::test
