// The sandbox payment provider as a child of the server that uses it.
#pragma once

#include <sys/types.h>

#include <atomic>
#include <string>

#include "cli/settings.h"
#include "runtime/loop.h"
#include "skald/env.h"

namespace skald::host {

// Starts `skald sandbox-provider` on a free port of loopback and waits until it
// listens; stops it when destroyed. It also ends when this process dies. Unavailable
// (NO_PROVIDER) where it does not come up at first.
//
// It is watched from then on: where it ends by itself it is started again on the same port, at
// once the first time and then after pauses that grow to ten seconds. Thread safe.
class ProviderProcess {
 public:
  // Its books lie in the data folder, or in memory where the database does. What `env` refers
  // to outlives it.
  ProviderProcess(Env env, const cli::Settings& settings);
  ~ProviderProcess();
  ProviderProcess(const ProviderProcess&) = delete;
  ProviderProcess& operator=(const ProviderProcess&) = delete;

  const std::string& url() const { return url_; }
  // What to say of it at /readyz while it is away; empty: it is there.
  std::string missing() const;

 private:
  std::string start(const std::string& listen);  // its first line
  void stop();
  bool has_ended();
  void note_up(bool up);
  Duration watch();
  void wait(Duration longest, runtime::Wakeup& wakeup) const;

  Env env_;
  const cli::Settings& settings_;
  std::string url_;
  std::atomic<bool> up_ = true;
  // From here on the loop's alone, while it runs.
  pid_t pid_ = -1;
  int ending_ = -1;                // readable when it has ended
  Instant started_{}, next_start_{};
  Duration pause_{};               // before the next start
  runtime::Loop watching_;
};

}  // namespace skald::host
