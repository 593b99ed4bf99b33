// The sandbox payment provider as a child of the server that uses it.
#pragma once

#include <sys/types.h>

#include <string>

#include "cli/settings.h"

namespace skald::host {

// Starts `skald sandbox-provider` on a free port of loopback and waits until it
// listens; stops it when destroyed. It also ends when this process dies. Unavailable
// (NO_PROVIDER) where it does not come up.
class ProviderProcess {
 public:
  // Its books lie in the data folder, or in memory where the database does.
  explicit ProviderProcess(const cli::Settings& settings);
  ~ProviderProcess();
  ProviderProcess(const ProviderProcess&) = delete;
  ProviderProcess& operator=(const ProviderProcess&) = delete;

  const std::string& url() const { return url_; }

 private:
  void stop();

  pid_t pid_ = -1;
  std::string url_;
};

}  // namespace skald::host
