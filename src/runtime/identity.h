// As which process a worker is shown.
#pragma once

#include <unistd.h>

#include "outbox/membership.h"

namespace skald::runtime {

inline outbox::Identity identity_of_process() {
  char host[256] = "localhost";
  ::gethostname(host, sizeof host - 1);
  return {host, ::getpid()};
}

}  // namespace skald::runtime
