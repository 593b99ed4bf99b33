#include "cli/named_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "skald/error.h"

namespace skald::cli {

std::string read_named_file(const std::string& path, std::size_t bytes_max, const char* code,
                            const std::string& what_to_do) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t got = descriptor < 0 ? -1 : 1;
  std::string text;
  char bytes[65536];
  while (got > 0 && text.size() <= bytes_max) {
    got = read(descriptor, bytes, sizeof bytes);
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
    else if (got < 0 && errno == EINTR) got = 1;
  }
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (got == 0 && text.size() <= bytes_max) return text;
  const std::string why = text.size() > bytes_max ? "is larger than " + std::to_string(bytes_max) + " bytes"
                          : error == EISDIR       ? "is a folder"
                          : error == ENOENT       ? "does not exist"
                                                  : "cannot be read: " + std::string(std::strerror(error));
  throw Invalid(code, "the file " + path + " " + why + "; " + what_to_do);
}

}  // namespace skald::cli
