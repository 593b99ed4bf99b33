#include "store/sqlite/file_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace skald::sqlite {
namespace {

constexpr int kTries = 50, kPauseMs = 10;

// A process that was killed may leave a child between fork and exec, which has the lock for a moment longer: whoever
// takes the dead one's place at once waits for that.
bool take(int fd) {
  for (int tried = 1; ::flock(fd, LOCK_EX | LOCK_NB) != 0; ++tried) {
    if (tried == kTries) return false;
    ::poll(nullptr, 0, kPauseMs);
  }
  return true;
}

}  // namespace

SqliteDatabase::FileLock::FileLock(const std::string& path) {
  const std::string name = path + ".lock";
  fd_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd_ < 0) throw Unavailable("DATABASE_UNAVAILABLE", "cannot create " + name + ": " + std::strerror(errno));
  ::fchmod(fd_, S_IRUSR | S_IWUSR);
  if (!take(fd_)) {
    ::close(fd_);
    throw Unavailable(
        "DATABASE_IN_USE",
        "another process has " + path + " open; one process per SQLite file: talk to that server, or stop it first");
  }
}

SqliteDatabase::FileLock::~FileLock() { ::close(fd_); }

void SqliteDatabase::FileLock::keep_private(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, S_IRUSR | S_IWUSR);
  if (fd < 0) return;  // SQLite will say why
  ::fchmod(fd, S_IRUSR | S_IWUSR);
  ::close(fd);
  for (const char* suffix : {"-wal", "-shm"}) ::chmod((path + suffix).c_str(), S_IRUSR | S_IWUSR);
}

}  // namespace skald::sqlite
