#include "cli/system_limits.h"

#include <cerrno>
#include <cstring>
#include <new>

namespace skald::cli {

// By the text: errors come from the system, from libraries and from our own family alike.
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
