#include "process/run_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>

#include <charconv>

#include "process/small_file.h"

namespace skald::process {
namespace {

template <class T>
std::optional<T> read_described(const RunFolder& run, const char* name) {
  const auto text = read_small_file(run.file(name));
  if (!text) return std::nullopt;
  try {
    return from_json<T>(*text);
  } catch (const Invalid& error) {
    throw Corrupt("RUN_DAMAGED", "the file '" + run.file(name) + "' of a run is damaged (" + error.what() +
                                     "): stop what it runs and remove its folder");
  }
}

}  // namespace

bool RunFolder::has(const char* name) const { return file_exists(file(name)); }

std::optional<RunAsked> RunFolder::asked() const { return read_described<RunAsked>(*this, "asked"); }
std::optional<RunBegun> RunFolder::begun() const { return read_described<RunBegun>(*this, "begun"); }
std::optional<RunEnded> RunFolder::ended() const { return read_described<RunEnded>(*this, "end"); }

std::optional<std::string> RunFolder::stop_reason() const {
  auto why = read_small_file(file("stop"));
  if (why && why->empty()) why = "it was stopped, and the disk had no room for the reason";
  return why;
}

std::int64_t RunFolder::lost() const {
  const std::string text = read_small_file(file("lost")).value_or("");
  std::int64_t out = 0;
  std::from_chars(text.data(), text.data() + text.size(), out);
  return out;
}

// The folder may have been removed, and made anew, between open() and flock().
Descriptor RunFolder::try_lock(LockFor purpose) const {
  const int access = purpose == LockFor::supervisor ? O_RDWR : O_RDONLY;
  Descriptor lock(open(file("lock").c_str(), access | O_CLOEXEC));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 || !is_lock(lock)) return {};
  return above_given(std::move(lock));
}

bool RunFolder::is_lock(const Descriptor& descriptor) const {
  struct stat held{}, named{};
  return fstat(descriptor.get(), &held) == 0 && stat(file("lock").c_str(), &named) == 0 &&
         held.st_ino == named.st_ino && held.st_dev == named.st_dev;
}

}  // namespace skald::process
