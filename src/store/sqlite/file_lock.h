// One process per database file.
#pragma once

#include <string>

#include "store/sqlite/database.h"

namespace skald::sqlite {

// Holds an OS lock beside the file for as long as it lives; the system drops it
// when the process ends, however it ends.
class SqliteDatabase::FileLock {
 public:
  // Throws Unavailable (DATABASE_IN_USE) where another process holds it and keeps it for half a second.
  explicit FileLock(const std::string& path);
  ~FileLock();
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;

  // Makes the file and what SQLite keeps beside it its owner's alone, whatever the umask, also
  // where they exist. New ones beside it get the mode of the database from SQLite. Only under
  // the lock, and before SQLite opens it: closing a file drops the process's locks on it.
  static void keep_private(const std::string& path);

 private:
  int fd_;
};

}  // namespace skald::sqlite
