// One process per database file.
#pragma once

#include <string>

#include "store/sqlite/database.h"

namespace skald::sqlite {

// Holds an OS lock beside the file for as long as it lives; the system drops it
// when the process ends, however it ends.
class SqliteDatabase::FileLock {
 public:
  // Throws Unavailable (DATABASE_IN_USE) where another process holds it.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

 private:
  int fd_;
};

}  // namespace skald::sqlite
