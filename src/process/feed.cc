#include "process/feed.h"

#include <unistd.h>

#include <cerrno>

#include "process/broken_pipe.h"

namespace skald::process {
Feed::Feed(Descriptor to, std::string_view text) : to_(std::move(to)), left_(text) {
  make_nonblocking(to_);
  if (left_.empty()) to_.close();
}

void Feed::write_some() {
  const BrokenPipesUnheard unheard;
  const ssize_t written = write(to_.get(), left_.data(), left_.size());
  if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (written > 0) left_.remove_prefix(static_cast<std::size_t>(written));
  if (written < 0 || left_.empty()) to_.close();
}

}  // namespace skald::process
