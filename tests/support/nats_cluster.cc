#include "support/nats_cluster.h"

#include "support/free_port.h"

namespace skald::test {

NatsCluster::NatsCluster() {
  std::array<std::uint16_t, kServers> ports{};
  std::string routes;
  for (std::uint16_t& port : ports) {
    port = free_port();
    routes += (routes.empty() ? "" : ", ") + ("\"nats://127.0.0.1:" + std::to_string(port)) + "\"";
  }
  std::string folders;
  for (std::size_t i = 0; i < kServers; ++i) {
    servers_[i] =
        std::make_unique<NatsServer>("server_name: nats-" + std::to_string(i) +
                                         "\ncluster { name: skald, listen: \"127.0.0.1:" + std::to_string(ports[i]) +
                                         "\", routes: [" + routes + "] }",
                                     free_port());
    folders += " " + servers_[i]->folder().string();
  }
  cleanup_.emplace("rm -rf" + folders);
}

std::string NatsCluster::urls() const {
  std::string out;
  for (const auto& server : servers_) out += (out.empty() ? "" : ",") + server->url();
  return out;
}

}  // namespace skald::test
