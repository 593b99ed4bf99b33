#include "support/faulty_disk.h"

#include <algorithm>
#include <atomic>

namespace skald::test {

// The base's own file lies behind it.
struct FaultyDisk::File : sqlite3_file {
  FaultyDisk* disk;
  int kind;
  sqlite3_file* real() { return reinterpret_cast<sqlite3_file*>(this + 1); }
  static File& of(sqlite3_file* file) { return *static_cast<File*>(file); }
};

namespace {

template <class File, auto Method, class... Args>
int pass_on(sqlite3_file* file, Args... args) {
  sqlite3_file* const real = static_cast<File*>(file)->real();
  return (real->pMethods->*Method)(real, args...);
}

std::string unique_disk_name() {
  static std::atomic<int> count = 0;
  return "faulty-disk-" + std::to_string(++count);
}

}  // namespace

const sqlite3_io_methods FaultyDisk::kMethods = {
    .iVersion = 3,
    .xClose = pass_on<File, &sqlite3_io_methods::xClose>,
    .xRead = pass_on<File, &sqlite3_io_methods::xRead>,
    .xWrite = &FaultyDisk::write,
    .xTruncate = pass_on<File, &sqlite3_io_methods::xTruncate>,
    .xSync = &FaultyDisk::sync,
    .xFileSize = pass_on<File, &sqlite3_io_methods::xFileSize>,
    .xLock = pass_on<File, &sqlite3_io_methods::xLock>,
    .xUnlock = pass_on<File, &sqlite3_io_methods::xUnlock>,
    .xCheckReservedLock = pass_on<File, &sqlite3_io_methods::xCheckReservedLock>,
    .xFileControl = pass_on<File, &sqlite3_io_methods::xFileControl>,
    .xSectorSize = pass_on<File, &sqlite3_io_methods::xSectorSize>,
    .xDeviceCharacteristics = pass_on<File, &sqlite3_io_methods::xDeviceCharacteristics>,
    .xShmMap = pass_on<File, &sqlite3_io_methods::xShmMap>,
    .xShmLock = pass_on<File, &sqlite3_io_methods::xShmLock>,
    .xShmBarrier = [](sqlite3_file* file) { File::of(file).real()->pMethods->xShmBarrier(File::of(file).real()); },
    .xShmUnmap = pass_on<File, &sqlite3_io_methods::xShmUnmap>,
    .xFetch = pass_on<File, &sqlite3_io_methods::xFetch>,
    .xUnfetch = pass_on<File, &sqlite3_io_methods::xUnfetch>,
};

FaultyDisk::FaultyDisk(const char* base) : name_(unique_disk_name()), base_(sqlite3_vfs_find(base)), vfs_(*base_) {
  vfs_.szOsFile = static_cast<int>(sizeof(File)) + base_->szOsFile;
  vfs_.zName = name_.c_str();
  vfs_.pNext = nullptr;
  vfs_.pAppData = this;
  vfs_.xOpen = &FaultyDisk::open;
  sqlite3_vfs_register(&vfs_, 1);
}

FaultyDisk::~FaultyDisk() {
  sqlite3_vfs_unregister(&vfs_);
  sqlite3_vfs_register(sqlite3_vfs_find("unix"), 1);
}

void FaultyDisk::fill(std::int64_t room, int files, bool on_copy) {
  const std::lock_guard lock(mutex_);
  room_ = room;
  full_files_ = files;
  on_copy_ = on_copy;
}

void FaultyDisk::make_room() {
  const std::lock_guard lock(mutex_);
  full_files_ = 0;
}

void FaultyDisk::fail_syncs(int files) {
  const std::lock_guard lock(mutex_);
  unsynced_files_ = files;
}

int FaultyDisk::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

int FaultyDisk::open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags) {
  auto* const disk = static_cast<FaultyDisk*>(vfs->pAppData);
  File& ours = File::of(file);
  ours.disk = disk;
  ours.kind = flags;
  const int code = disk->base_->xOpen(disk->base_, name, ours.real(), flags, out_flags);
  ours.pMethods = ours.real()->pMethods == nullptr ? nullptr : &kMethods;
  return code;
}

// As the operating system does: what fits is written, and then it says no.
int FaultyDisk::write(sqlite3_file* file, const void* data, int amount, sqlite3_int64 offset) {
  File& ours = File::of(file);
  FaultyDisk& disk = *ours.disk;
  const auto write_real = [&](int bytes) { return ours.real()->pMethods->xWrite(ours.real(), data, bytes, offset); };
  const std::lock_guard lock(disk.mutex_);
  if ((ours.kind & disk.full_files_) == 0) return write_real(amount);
  sqlite3_int64 size = 0;
  if (!disk.on_copy_) ours.real()->pMethods->xFileSize(ours.real(), &size);
  const std::int64_t needed = std::clamp<std::int64_t>(offset + amount - size, 0, amount);
  if (needed <= disk.room_) {
    disk.room_ -= needed;
    return write_real(amount);
  }
  const int fits = amount - static_cast<int>(needed - disk.room_);
  disk.room_ = 0;
  ++disk.refusals_;
  if (fits > 0) write_real(fits);
  return SQLITE_FULL;
}

int FaultyDisk::sync(sqlite3_file* file, int flags) {
  File& ours = File::of(file);
  {
    const std::lock_guard lock(ours.disk->mutex_);
    if ((ours.kind & ours.disk->unsynced_files_) != 0) return SQLITE_IOERR_FSYNC;
  }
  return ours.real()->pMethods->xSync(ours.real(), flags);
}

}  // namespace skald::test
