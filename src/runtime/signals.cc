#include "runtime/signals.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

namespace skald::runtime {
namespace {

sigset_t stop_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  return set;
}

}  // namespace

StopSignals::StopSignals() {
  const sigset_t set = stop_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  signal(SIGPIPE, SIG_IGN);
  signal(SIGHUP, SIG_IGN);
}

bool StopSignals::wait(Duration longest) {
  const sigset_t set = stop_signals();
  const auto seconds = std::chrono::floor<std::chrono::seconds>(longest);
  const timespec time{static_cast<time_t>(seconds.count()),
                      static_cast<long>(std::chrono::nanoseconds(longest - seconds).count())};
  if (sigtimedwait(&set, nullptr, &time) < 0) return false;
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  return true;
}

void end_process_after(std::chrono::seconds time) { alarm(static_cast<unsigned>(time.count())); }

}  // namespace skald::runtime
