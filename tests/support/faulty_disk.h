// SQLite on a disk that can be full and whose syncs can fail, as real ones do.
//
// It stands between SQLite and the operating system (a VFS), so everything above it is the
// real thing: what a failing write leaves behind in the file is what a real disk leaves.
// It is the default for databases that are opened while it lives; they are closed before it.
// Thread safe.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <mutex>
#include <string>

namespace skald::test {

class FaultyDisk {
 public:
  // Which files: flags that SQLite opens them with.
  static constexpr int kDatabase = SQLITE_OPEN_MAIN_DB;
  static constexpr int kLog = SQLITE_OPEN_WAL;
  static constexpr int kAll = kDatabase | kLog;

  // `base` is one of SQLite's own; null: its default.
  explicit FaultyDisk(const char* base = nullptr);
  ~FaultyDisk();
  FaultyDisk(const FaultyDisk&) = delete;
  FaultyDisk& operator=(const FaultyDisk&) = delete;

  // These files can grow by so many bytes more. What a file has already it can write again,
  // unless the file system copies what is written (`on_copy`): then that needs room as well.
  void fill(std::int64_t room = 0, int files = kAll, bool on_copy = false);
  void make_room();
  // Syncs of these files fail; 0: of none.
  void fail_syncs(int files);
  // Writes that found no room.
  int refusals() const;

 private:
  struct File;
  static int open(sqlite3_vfs* vfs, const char* name, sqlite3_file* file, int flags, int* out_flags);
  static int write(sqlite3_file* file, const void* data, int amount, sqlite3_int64 offset);
  static int sync(sqlite3_file* file, int flags);
  static const sqlite3_io_methods kMethods;

  const std::string name_;
  sqlite3_vfs* const base_;
  sqlite3_vfs vfs_;
  mutable std::mutex mutex_;   // guards the rest
  int full_files_ = 0;
  bool on_copy_ = false;
  std::int64_t room_ = 0;
  int unsynced_files_ = 0;
  int refusals_ = 0;
};

}  // namespace skald::test
