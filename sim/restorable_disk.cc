#include "sim/restorable_disk.h"

#include <algorithm>
#include <filesystem>

namespace skald::sim {
namespace {

namespace fs = std::filesystem;

// The database and its log.
void copy_files(const std::string& from, const std::string& to) {
  for (const char* ending : {"", "-wal"}) {
    fs::remove(to + ending);
    if (fs::exists(from + ending)) fs::copy_file(from + ending, to + ending);
  }
}

}  // namespace

RestorableDisk::RestorableDisk(Stage& stage, const std::string& name)
    : stage_(stage), name_(name + ".db"), path_(stage.folder.file(name_)) {
  open();
}

void RestorableDisk::open() {
  db_ = std::make_unique<sqlite::SqliteDatabase>(Env{stage_.database_clock, stage_.engine_random, silent_observer()},
                                                 stage_.disk_options(name_));
}

void RestorableDisk::copy() { copy_files(path_, file_of(copies_++)); }

void RestorableDisk::restore() {
  const int back = stage_.dice.between(1, std::min(copies_, kKept));
  db_.reset();
  copy_files(file_of(copies_ - back), path_);
  open();
}

}  // namespace skald::sim
