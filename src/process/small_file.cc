#include "process/small_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "process/descriptor.h"

namespace skald::process {
namespace {

constexpr std::size_t kSmallMax = 1 << 20;

}  // namespace

std::optional<std::string> read_small_file(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return std::nullopt;
  std::string out;
  std::array<char, 4096> buffer;
  while (out.size() < kSmallMax) {
    const ssize_t got = read(file.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return std::nullopt;
    if (got == 0) break;
    out.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return out;
}

}  // namespace skald::process
