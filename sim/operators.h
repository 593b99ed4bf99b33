// Those who look after the services: they replay and discard dead letters, import
// fallback files, let old entries go; and one who tampers with the table.
#pragma once

#include <functional>

#include "sim/faulty_file.h"
#include "sim/process.h"
#include "sim/stage.h"

namespace skald::sim {

class Operators {
 public:
  // `file_waits`: some machine has a fallback file that nobody has imported yet.
  Operators(Stage& stage, std::function<bool()> file_waits) : stage_(stage), file_waits_(std::move(file_waits)) {}

  // One action at the given process, whose machine has this file.
  void act(Process& process, FaultyFile& file);

  void import(Process& process, FaultyFile& file);
  void replay(Process& process, const std::string& id);
  void discard(Process& process, const std::string& id);
  // Dead letters, or only those that block a key.
  std::vector<std::string> dead(bool blocking);

 private:
  void tamper();
  void retain(Process& process);

  Stage& stage_;
  std::function<bool()> file_waits_;
};

}  // namespace skald::sim
