// A server of a command's own: this same program on a free port, with a data folder of its own and none of our settings.
#pragma once

#include <sys/types.h>

#include <string>

#include "cli/api.h"
#include "skald/env.h"
#include "skald/process.h"

namespace skald::host {

// It dies with the thread that has made it. Thread safety: one thread at a time.
class PrivateServer {
 public:
  // Returns once it answers. Unavailable (NO_PRIVATE_SERVER) with its last words where it does not.
  PrivateServer(const Env& env, const std::string& data, const std::string& services);

  const cli::Api& api() const { return api_; }
  // Lets so much time pass. Unavailable (NO_PRIVATE_SERVER) where it has ended.
  void rest(Duration time);
  // Asks it to end; whether it did so by itself and without an error.
  bool stop();

 private:
  const Clock& clock_;
  Dialogue dialogue_;
  cli::Api api_;
  pid_t pid_ = 0;
};

}  // namespace skald::host
