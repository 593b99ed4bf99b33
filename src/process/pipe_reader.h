// What another program writes to a pipe, as it comes.
#pragma once

#include <functional>
#include <string_view>

#include "process/descriptor.h"

namespace skald::process {

class PipeReader {
 public:
  using Take = std::function<void(std::string_view)>;

  PipeReader() = default;
  PipeReader(Descriptor from, Take take);

  int descriptor() const { return from_.get(); }  // to wait for until it can be read; -1: its end was read
  void read_some() { read_up_to(~std::size_t{0}); }
  // What lies in the pipe now. Its end is not waited for: one that is beyond our reach may hold it open, and write.
  void read_rest();

 private:
  std::size_t read_up_to(std::size_t bytes_max);

  Descriptor from_;
  Take take_;
};

}  // namespace skald::process
