// Restate's server and the process with the steps of the order saga, for one run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "child.h"

namespace bench {

class RestateServer {
 public:
  struct Ports {
    int ingress, admin, node, service;
    static Ports free();
  };

  // Why it cannot be run here; nothing where it can.
  static std::optional<std::string> missing();

  // On a new folder; the steps write to the PostgreSQL database at `url`.
  RestateServer(const std::string& url, const Ports& ports);
  ~RestateServer();

  std::vector<pid_t> pids() const { return {server_->pid(), service_->pid()}; }

 private:
  std::string folder_;
  std::unique_ptr<Child> server_, service_;
};

}  // namespace bench
