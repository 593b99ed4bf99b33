// A process that tidies up behind this one, also where this one is killed.
#pragma once

#include <cstdio>
#include <string>

namespace skald::test {

class CleanupProcess {
 public:
  // The shell runs `commands` once this object, or the process that has it, is gone. Throws std::runtime_error where
  // there is no process to be had.
  explicit CleanupProcess(const std::string& commands);
  // Returns when they have been run.
  ~CleanupProcess();
  CleanupProcess(const CleanupProcess&) = delete;
  CleanupProcess& operator=(const CleanupProcess&) = delete;

 private:
  std::FILE* pipe_;  // the process waits until this end of its pipe is closed
};

}  // namespace skald::test
