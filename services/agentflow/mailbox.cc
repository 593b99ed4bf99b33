#include "agentflow/mailbox.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "skald/error.h"

namespace agentflow {
namespace {

constexpr const char* kMailboxes = ".skald";
constexpr int kFolder = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

struct MailFile {
  int number;
  ~MailFile() {
    if (number >= 0) ::close(number);
  }
};

[[noreturn]] void no_mailbox(const std::string& what) {
  throw skald::Unavailable("NO_MAILBOX",
                           "the mailbox of an agent cannot be written (" + what + "): " + std::strerror(errno));
}

// Each part of the path by itself: the agent may have put a link in the place of any.
int open_box(const std::string& space, const std::string& run, bool make) {
  const MailFile outer{::open(space.c_str(), kFolder)};
  if (outer.number < 0) return -1;
  if (make && ::mkdirat(outer.number, kMailboxes, 0700) != 0 && errno != EEXIST) return -1;
  const MailFile middle{::openat(outer.number, kMailboxes, kFolder)};
  if (middle.number < 0) return -1;
  if (make && ::mkdirat(middle.number, run.c_str(), 0700) != 0 && errno != EEXIST) return -1;
  return ::openat(middle.number, run.c_str(), kFolder);
}

void write_all(int file, const std::string& text, const std::string& name) {
  for (std::size_t at = 0; at < text.size();) {
    const ssize_t put = ::write(file, text.data() + at, text.size() - at);
    if (put < 0 && errno != EINTR) no_mailbox(name);
    if (put > 0) at += static_cast<std::size_t>(put);
  }
  if (::fsync(file) != 0) no_mailbox(name);
}

}  // namespace

std::string mailbox_path(const std::string& space, const std::string& run) {
  return space + "/" + kMailboxes + "/" + run;
}

std::optional<Mailbox> Mailbox::at(const std::string& space, const std::string& run) {
  const int folder = open_box(space, run, false);
  return folder < 0 ? std::nullopt : std::optional(Mailbox(folder));
}

std::optional<Mailbox> Mailbox::at(const std::string& folder) {
  const int number = ::open(folder.c_str(), kFolder);
  return number < 0 ? std::nullopt : std::optional(Mailbox(number));
}

Mailbox Mailbox::make(const std::string& space, const std::string& run) {
  const int folder = open_box(space, run, true);
  if (folder < 0) no_mailbox(run);
  return Mailbox(folder);
}

Mailbox::~Mailbox() {
  if (folder_ >= 0) ::close(folder_);
}

Mailbox::Mailbox(Mailbox&& other) noexcept : folder_(std::exchange(other.folder_, -1)) {}

Mailbox::Reading Mailbox::read(const std::string& name) const {
  const MailFile file{::openat(folder_, name.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)};
  if (file.number < 0) return {.is_there = errno != ENOENT};
  Reading out{.is_there = true};
  struct stat about{};
  if (::fstat(file.number, &about) != 0 || !S_ISREG(about.st_mode) || about.st_size > static_cast<off_t>(kMailFileMax))
    return out;
  std::string text(kMailFileMax + 1, '\0');
  std::size_t length = 0;
  while (length < text.size()) {
    const ssize_t got = ::read(file.number, text.data() + length, text.size() - length);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return out;
    if (got == 0) break;
    length += static_cast<std::size_t>(got);
  }
  if (length > kMailFileMax) return out;
  text.resize(length);
  out.text = std::move(text);
  return out;
}

// Its name is one of this process: two that write at once do not meet.
std::string Mailbox::write_beside(const std::string& name, const std::string& text) const {
  const std::string beside = "." + name + "." + std::to_string(::getpid());
  ::unlinkat(folder_, beside.c_str(), 0);  // of one that died in between and had this number
  const MailFile file{::openat(folder_, beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600)};
  if (file.number < 0) no_mailbox(name);
  write_all(file.number, text, name);
  return beside;
}

void Mailbox::write(const std::string& name, const std::string& text) const {
  const std::string beside = write_beside(name, text);
  if (::renameat(folder_, beside.c_str(), folder_, name.c_str()) != 0 || ::fsync(folder_) != 0) no_mailbox(name);
}

bool Mailbox::add(const std::string& name, const std::string& text) const {
  const std::string beside = write_beside(name, text);
  const bool added = ::linkat(folder_, beside.c_str(), folder_, name.c_str(), 0) == 0;
  const int error = errno;
  ::unlinkat(folder_, beside.c_str(), 0);
  errno = error;
  if (!added && error != EEXIST) no_mailbox(name);
  if (added && ::fsync(folder_) != 0) no_mailbox(name);
  return added;
}

void Mailbox::remove(const std::string& name) const { ::unlinkat(folder_, name.c_str(), 0); }

}  // namespace agentflow
