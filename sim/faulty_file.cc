#include "sim/faulty_file.h"

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
            synced_ = size_of(path_);
            return 0;
          },
      .sync_folder =
          [this](const std::string&) {
            in_folder_ = true;
            return 0;
          },
  };
}

void FaultyFile::lose_unsynced() {
  const std::int64_t size = size_of(path_);
  if (size == 0) return;
  if (!in_folder_ && stage_.dice.chance(500)) {
    ::unlink(path_.c_str());
    moved_away();
    stage_.markers.hit(Marker::file_torn);
  } else if (size > synced_) {
    synced_ += static_cast<std::int64_t>(stage_.dice.below(static_cast<std::size_t>(size - synced_ + 1)));
    if (::truncate(path_.c_str(), synced_) == 0) stage_.markers.hit(Marker::file_torn);
  }
}

void FaultyFile::moved_away() {
  synced_ = 0;
  in_folder_ = false;
}

void FaultyFile::appended_by_import() {
  synced_ = size_of(path_);
  in_folder_ = synced_ > 0;
}

bool FaultyFile::empty() const { return size_of(path_) == 0 && size_of(path_ + ".importing") == 0; }

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
