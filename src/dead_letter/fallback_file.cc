#include "dead_letter/fallback_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "dead_letter/fallback_line.h"
#include "env/seam.h"
#include "skald/error.h"

namespace skald {
namespace {

[[noreturn]] void unavailable(const std::string& what, int error) {
  throw Unavailable("FALLBACK_FILE", "the fallback file cannot be " + what + ": " + std::strerror(error));
}

std::string folder_of(const std::string& path) {
  const auto folder = std::filesystem::path(path).parent_path().string();
  return folder.empty() ? "." : folder;
}

int sync_real_folder(const std::string& folder) {
  const FileHandle handle(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return handle ? ::fsync(handle.get()) : -1;
}

// Held for one append or one rename; released with the scope.
class FileLock {
 public:
  explicit FileLock(int descriptor) : descriptor_(descriptor) {
    int result;
    do result = ::flock(descriptor_, LOCK_EX);
    while (result != 0 && errno == EINTR);
    if (result != 0) unavailable("locked", errno);
  }
  ~FileLock() { ::flock(descriptor_, LOCK_UN); }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int descriptor_;
};

// False once an import has renamed the file away under an open descriptor.
bool still_at(const std::string& path, int descriptor) {
  struct stat there, ours;
  if (::fstat(descriptor, &ours) != 0) unavailable("read", errno);
  if (::stat(path.c_str(), &there) != 0) return false;
  return there.st_dev == ours.st_dev && there.st_ino == ours.st_ino;
}

bool ends_in_newline(int descriptor) {
  struct stat info;
  if (::fstat(descriptor, &info) != 0) unavailable("read", errno);
  if (info.st_size == 0) return true;
  char last = 0;
  if (::pread(descriptor, &last, 1, info.st_size - 1) != 1) unavailable("read", errno);
  return last == '\n';
}

}  // namespace

FileOps FileOps::real() {
  return {
      .write = [](int descriptor, std::string_view data) { return ::write(descriptor, data.data(), data.size()); },
      .sync = [](int descriptor) { return ::fdatasync(descriptor); },
      .sync_folder = sync_real_folder,
  };
}

FileHandle& FileHandle::operator=(FileHandle&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

void FileHandle::reset() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

FallbackFile::FallbackFile(std::string path, FileOps ops) : path_(std::move(path)), ops_(std::move(ops)) {
  // Dead letters are nobody else's business; an older program may have left them open.
  for (const char* suffix : {"", ".importing", ".importing.lock"}) ::chmod((path_ + suffix).c_str(), 0600);
}

void FallbackFile::append(std::string_view record) {
  const std::lock_guard guard(mutex_);
  if (poisoned_)
    throw Unavailable("FALLBACK_FILE", "the fallback file has failed before; see to the disk and open it again");
  std::string line = format_fallback_line(record);
  for (;;) {
    open_current();
    const FileLock lock(file_.get());
    if (still_at(path_, file_.get())) return write_line(std::move(line));
    // Renamed by an import that may end before our line would be in it.
  }
}

void FallbackFile::reopen() {
  const std::lock_guard guard(mutex_);
  file_.reset();
  poisoned_ = false;
}

void FallbackFile::open_current() {
  if (file_ && still_at(path_, file_.get())) return;
  // Read access for the look at the tail.
  file_ = FileHandle(::open(path_.c_str(), O_RDWR | O_APPEND | O_CREAT | O_CLOEXEC, 0600));
  if (!file_) unavailable("opened", errno);
  ::fchmod(file_.get(), 0600);  // whatever the umask
  folder_synced_ = false;
}

void FallbackFile::write_line(std::string line) {
  if (!ends_in_newline(file_.get())) line.insert(0, 1, '\n');
  ssize_t written;
  do written = ops_.write(file_.get(), line);
  while (written < 0 && errno == EINTR);
  // Until all of it is through, what the disk holds is not known.
  poisoned_ = true;
  if (written < 0) unavailable("written", errno);
  if (static_cast<std::size_t>(written) != line.size()) unavailable("written", ENOSPC);
  if (seam::holds(seam::Rule::fallback_synced) && ops_.sync(file_.get()) != 0) unavailable("synced", errno);
  // Even where the file was there already: its creator may have died before this.
  if (!folder_synced_ && ops_.sync_folder(folder_of(path_)) != 0) unavailable("synced with its folder", errno);
  folder_synced_ = true;
  poisoned_ = false;
}

std::optional<FallbackImport> FallbackImport::take(const std::string& path) {
  FileHandle lock(::open((path + ".importing.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600));
  if (!lock && errno == ENOENT) return std::nullopt;  // no folder, no file
  if (!lock) unavailable("imported", errno);
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) unavailable("imported", errno);
    throw Busy("FALLBACK_IMPORT_RUNS", "another import of the fallback file is under way; wait for it to end");
  }
  FallbackImport import(path, std::move(lock));
  import.leftover_ = ::access(import.path().c_str(), F_OK) == 0;
  if (!import.leftover_ && !import.take_current()) return std::nullopt;
  return import;
}

bool FallbackImport::take_current() {
  const FileHandle file(::open(file_.c_str(), O_RDWR | O_CLOEXEC));
  if (!file && errno == ENOENT) return false;
  if (!file) unavailable("imported", errno);
  const FileLock no_append(file.get());
  if (::rename(file_.c_str(), path().c_str()) != 0) unavailable("imported", errno);
  return true;
}

bool FallbackImport::finish() {
  if (::unlink(path().c_str()) != 0 && errno != ENOENT) unavailable("removed after its import", errno);
  if (sync_real_folder(folder_of(file_)) != 0) unavailable("synced with its folder", errno);
  return std::exchange(leftover_, false) && take_current();
}

}  // namespace skald
