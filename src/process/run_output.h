// The file `output` of a run: bounded, and losing what a full disk does not take.
#pragma once

#include <cstdint>
#include <string_view>

#include "process/descriptor.h"
#include "process/run_folder.h"

namespace skald::process {

class RunOutput {
 public:
  RunOutput(const RunFolder& run, std::int64_t bytes_max);

  void add(std::string_view bytes);
  // On disk, as far as it could be kept; returns what could not.
  std::int64_t close();

 private:
  void lose(std::int64_t bytes);

  Descriptor output_, lost_file_;
  std::int64_t room_, lost_ = 0;
};

}  // namespace skald::process
