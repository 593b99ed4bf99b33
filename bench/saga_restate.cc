#include "saga_restate.h"

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "contestant.h"

namespace bench {
namespace {

// npm brings the server as a package for each platform.
std::string binary() {
  for (const char* platform : {"linux-x64", "linux-arm64"}) {
    const std::string path =
        peers_file(std::string("node_modules/@restatedev/restate-server-") + platform + "/bin/restate-server");
    if (std::filesystem::exists(path)) return path;
  }
  return "";
}

std::string local(int port) { return "127.0.0.1:" + std::to_string(port); }

}  // namespace

// Bound all at once, so that no two are the same.
RestateServer::Ports RestateServer::Ports::free() {
  int ports[4] = {}, sockets[4] = {};
  for (int i = 0; i < 4; ++i) {
    sockets[i] = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    if (bind(sockets[i], reinterpret_cast<sockaddr*>(&address), size) != 0 ||
        getsockname(sockets[i], reinterpret_cast<sockaddr*>(&address), &size) != 0)
      throw std::runtime_error("no free port");
    ports[i] = ntohs(address.sin_port);
  }
  for (const int one : sockets) close(one);
  return {ports[0], ports[1], ports[2], ports[3]};
}

std::optional<std::string> RestateServer::missing() {
  if (!binary().empty()) return std::nullopt;
  return "npm has installed no server program for this machine (@restatedev/restate-server in bench/node_modules)";
}

RestateServer::RestateServer(const std::string& url, const Ports& ports) {
  std::string folder = (std::filesystem::temp_directory_path() / "skald-bench.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = folder;
  // Two partitions are its best on two cores. Its log must not fill the pipe to us.
  server_ = std::make_unique<Child>(std::vector<std::string>{"env",
                                                             "RUST_LOG=warn",
                                                             "DO_NOT_TRACK=1",
                                                             "RESTATE_DISABLE_TELEMETRY=true",
                                                             "RESTATE_LISTEN_MODE=tcp",
                                                             "RESTATE_DEFAULT_NUM_PARTITIONS=2",
                                                             "RESTATE_BIND_ADDRESS=" + local(ports.node),
                                                             "RESTATE_ADVERTISED_ADDRESS=http://" + local(ports.node),
                                                             "RESTATE_ADMIN__BIND_ADDRESS=" + local(ports.admin),
                                                             "RESTATE_INGRESS__BIND_ADDRESS=" + local(ports.ingress),
                                                             "LOG=" + folder_ + "/log",
                                                             "sh",
                                                             "-c",
                                                             "exec \"$0\" \"$@\" >\"$LOG\" 2>&1",
                                                             binary(),
                                                             "--no-logo",
                                                             "--base-dir",
                                                             folder_,
                                                             "--node-name",
                                                             "bench"});
  service_ = std::make_unique<Child>(std::vector<std::string>{node(), peers_file("peers/restate_service.mjs"), url,
                                                              std::to_string(ports.service),
                                                              std::to_string(ports.admin), "16"});
  service_->expect("ready");
}

RestateServer::~RestateServer() {
  service_.reset();
  server_.reset();
  std::filesystem::remove_all(folder_);
}

}  // namespace bench
