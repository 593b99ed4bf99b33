// The disk under one machine's fallback file. What was not synced when the machine
// dies is lost from some byte on, and a file whose folder was not synced may be
// gone as a whole.
#pragma once

#include <cstdint>
#include <string>

#include "dead_letter/fallback_file.h"
#include "sim/stage.h"

namespace skald::sim {

class FaultyFile {
 public:
  // The folder is the caller's to make and to remove.
  FaultyFile(Stage& stage, std::string path);
  FaultyFile(const FaultyFile&) = delete;
  FaultyFile& operator=(const FaultyFile&) = delete;

  const std::string& path() const { return path_; }
  FileOps ops();
  // Power loss.
  void lose_unsynced();
  // An import puts back, and syncs, what is not decided yet.
  void appended_by_import();
  // Whether a record that names the event lies in it, or in what an import took.
  bool holds(std::string_view event_id) const;

 private:
  // What of a file would survive.
  struct Safe {
    std::uint64_t inode = 0;
    std::int64_t bytes = 0;
    bool in_folder = false;
  };
  // Of the file at the path now: a new one begins when an import renames it away.
  Safe& safe();

  Stage& stage_;
  std::string path_;
  Safe safe_;
};

}  // namespace skald::sim
