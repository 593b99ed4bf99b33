#include "sim/faulty_file.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>

#include "dead_letter/fallback_file.h"

namespace skald::sim {
namespace {

std::int64_t size_of(const std::string& path) {
  std::error_code none;
  const auto size = std::filesystem::file_size(path, none);
  return none ? 0 : static_cast<std::int64_t>(size);
}

}  // namespace

FaultyFile::FaultyFile(Stage& stage, std::string path) : stage_(stage), path_(std::move(path)) {}

FileOps FaultyFile::ops() {
  return {
      .write = [this](int descriptor, std::string_view data) -> ssize_t {
        if (stage_.dice.chance(stage_.plan.rates.short_write)) {
          stage_.markers.hit(Marker::file_failed);
          return ::write(descriptor, data.data(), stage_.dice.below(data.size()));
        }
        return ::write(descriptor, data.data(), data.size());
      },
      .sync =
          [this](int) {
            if (stage_.dice.chance(stage_.plan.rates.sync_error)) {
              stage_.markers.hit(Marker::file_failed);
              errno = EIO;
              return -1;
            }
            safe().bytes = size_of(path_);
            return 0;
          },
      .sync_folder =
          [this](const std::string&) {
            safe().in_folder = true;
            return 0;
          },
  };
}

FaultyFile::Safe& FaultyFile::safe() {
  struct stat info;
  const std::uint64_t inode = ::stat(path_.c_str(), &info) == 0 ? info.st_ino : 0;
  if (inode != safe_.inode) safe_ = {.inode = inode};
  return safe_;
}

void FaultyFile::lose_unsynced() {
  const std::int64_t size = size_of(path_);
  if (size == 0) return;
  Safe& left = safe();
  if (!left.in_folder && stage_.dice.chance(500)) {
    ::unlink(path_.c_str());
    left = {};
    stage_.markers.hit(Marker::file_torn);
  } else if (size > left.bytes) {
    left.bytes += static_cast<std::int64_t>(stage_.dice.below(static_cast<std::size_t>(size - left.bytes + 1)));
    if (::truncate(path_.c_str(), left.bytes) == 0) stage_.markers.hit(Marker::file_torn);
  }
}

void FaultyFile::appended_by_import() {
  Safe& left = safe();
  left.bytes = size_of(path_);
  left.in_folder = left.bytes > 0;
}

bool FaultyFile::holds(std::string_view event_id) const {
  bool found = false;
  for (const char* suffix : {"", ".importing"}) {
    read_fallback_file(
        path_ + suffix, [&](std::string_view record) { found = found || record.find(event_id) != record.npos; },
        [](std::uint64_t, std::string_view) {});
  }
  return found;
}

}  // namespace skald::sim
