// A service's disk, of which copies are made now and then, and which an operator puts back to one of them.
#pragma once

#include <memory>
#include <string>

#include "sim/stage.h"

namespace skald::sim {

class RestorableDisk {
 public:
  RestorableDisk(Stage& stage, const std::string& name);

  sqlite::SqliteDatabase& db() { return *db_; }
  // Between two transactions, of whatever it has then.
  void copy();
  bool has_copy() const { return copies_ > 0; }
  // To one of its last copies, by chance. Nobody has it open.
  void restore();

 private:
  std::string file_of(int copy) const { return path_ + ".copy-" + std::to_string(copy % kKept); }
  void open();

  static constexpr int kKept = 3;
  Stage& stage_;
  const std::string name_, path_;
  std::unique_ptr<sqlite::SqliteDatabase> db_;
  int copies_ = 0;  // ever made
};

}  // namespace skald::sim
