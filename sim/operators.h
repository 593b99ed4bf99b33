// Those who look after the services: they replay and discard dead letters, import
// fallback files, let old entries go; and one who tampers with the table.
#pragma once

#include <string>
#include <vector>

#include "sim/faulty_file.h"
#include "sim/process.h"
#include "sim/stage.h"

namespace skald::sim {

class Operators {
 public:
  explicit Operators(Stage& stage) : stage_(stage) {}

  // One action at the given process, whose machine has this file.
  void act(Process& process, FaultyFile& file);

  void import(Process& process, FaultyFile& file);
  // Lets at most `limit` completed entries of that age go.
  void retain(Process& process, Duration retention, int limit);
  void replay(Process& process, const std::string& id);
  void discard(Process& process, const std::string& id);
  // Dead letters, or only those that block a key.
  std::vector<std::string> dead(bool blocking);

 private:
  void tamper();

  Stage& stage_;
};

}  // namespace skald::sim
