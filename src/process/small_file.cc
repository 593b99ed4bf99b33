#include "process/small_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>

#include "process/descriptor.h"

namespace skald::process {
namespace {

constexpr std::size_t kSmallMax = 1 << 20;

// Two writers of one name do not meet, in whichever threads and processes they are.
std::string scratch_name(const std::string& name) {
  static std::atomic<int> made = 0;
  return "." + name + "." + std::to_string(getpid()) + "." + std::to_string(++made);
}

int write_scratch(const std::string& path, std::string_view text, Durable durable) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
  if (!file || write_all(file.get(), text) != text.size()) return errno;
  return durable == Durable::yes && fsync(file.get()) != 0 ? errno : 0;
}

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

bool file_exists(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0;
}

int write_small_file(const std::string& folder, const std::string& name, std::string_view text, Durable durable,
                     Existing existing) {
  const std::string scratch = folder + "/" + scratch_name(name), path = folder + "/" + name;
  int error = write_scratch(scratch, text, durable);
  if (error == 0 && existing == Existing::replaced && rename(scratch.c_str(), path.c_str()) != 0) error = errno;
  if (error == 0 && existing == Existing::kept && link(scratch.c_str(), path.c_str()) != 0 && errno != EEXIST)
    error = errno;
  if (error != 0 || existing == Existing::kept) unlink(scratch.c_str());
  return error == 0 && durable == Durable::yes ? sync_folder(folder) : error;
}

int sync_folder(const std::string& folder) {
  const Descriptor file(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  return !file || fsync(file.get()) != 0 ? errno : 0;
}

std::size_t write_all(int descriptor, std::string_view text) {
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t written = write(descriptor, text.data() + done, text.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) break;
    done += static_cast<std::size_t>(written);
  }
  return done;
}

}  // namespace skald::process
