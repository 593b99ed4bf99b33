#include "cli/named_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>

#include "skald/error.h"

namespace skald::cli {

std::string read_named_file(const std::string& path, const char* code, const std::string& what_to_do) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ssize_t got = descriptor < 0 ? -1 : 1;
  std::string text;
  char bytes[65536];
  while (got > 0) {
    got = read(descriptor, bytes, sizeof bytes);
    if (got > 0) text.append(bytes, static_cast<std::size_t>(got));
    else if (got < 0 && errno == EINTR) got = 1;
  }
  const int error = errno;
  if (descriptor >= 0) close(descriptor);
  if (got == 0) return text;
  const std::string why = error == EISDIR   ? "is a folder"
                          : error == ENOENT ? "does not exist"
                                            : "cannot be read: " + std::string(std::strerror(error));
  throw Invalid(code, "the file " + path + " " + why + "; " + what_to_do);
}

std::string advice_on_limits(const std::string& text) {
  const auto tells_of = [&](const std::string& what) { return text.find(what) != text.npos; };
  if (tells_of(std::strerror(EMFILE)) || tells_of(std::strerror(ENFILE)))
    return "raise the limit of open files (`ulimit -n`, LimitNOFILE= of systemd), or lower http.threads";
  if (tells_of(std::strerror(EAGAIN)))
    return "raise the limit of threads (`ulimit -u`, TasksMax= of systemd), or lower http.threads and sagas.threads";
  if (tells_of(std::strerror(ENOMEM)) || tells_of(std::bad_alloc().what()))
    return "raise the limit of memory (`ulimit -v`, MemoryMax= of systemd), or lower http.threads and sagas.threads";
  if (tells_of(std::strerror(EFBIG))) return "raise the limit of a file's size (`ulimit -f`, LimitFSIZE= of systemd)";
  return "";
}

}  // namespace skald::cli
