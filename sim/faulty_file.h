// The disk under one machine's fallback file. What was not synced when the machine
// dies is lost from some byte on, and a file whose folder was not synced may be
// gone as a whole.
#pragma once

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
  // An import has taken the file: what comes is a new one.
  void moved_away();
  // It puts back, and syncs, what is not decided yet.
  void appended_by_import();
  // Whether a record that names the event lies in it, or in what an import took.
  bool holds(std::string_view event_id) const;
  bool empty() const;

 private:
  Stage& stage_;
  std::string path_;
  std::int64_t synced_ = 0;
  bool in_folder_ = false;
};

}  // namespace skald::sim
