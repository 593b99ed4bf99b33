#include "process/feed.h"

#include <signal.h>
#include <unistd.h>

#include <cerrno>

namespace skald::process {
namespace {

// A write to a pipe that nobody reads kills the writer, unless the thread does not hear of it.
class BrokenPipesUnheard {
 public:
  BrokenPipesUnheard() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~BrokenPipesUnheard() {
    const timespec at_once{};
    if (!was_pending_)
      while (sigtimedwait(&pipe_, nullptr, &at_once) < 0 && errno == EINTR) {}
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  BrokenPipesUnheard(const BrokenPipesUnheard&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

}  // namespace

ssize_t write_unhurt(const Descriptor& to, std::string_view text) {
  const BrokenPipesUnheard unheard;
  return write(to.get(), text.data(), text.size());
}

Feed::Feed(Descriptor to, std::string_view text) : to_(std::move(to)), left_(text) {
  make_nonblocking(to_);
  if (left_.empty()) to_.close();
}

void Feed::write_some() {
  const ssize_t written = write_unhurt(to_, left_);
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written > 0) left_.remove_prefix(static_cast<std::size_t>(written));
  if (written < 0 || left_.empty()) to_.close();
}

}  // namespace skald::process
