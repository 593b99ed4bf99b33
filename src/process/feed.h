// What another program is given on its standard input, bit by bit, as it reads.
#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>

#include "process/descriptor.h"

namespace skald::process {

// As write(2), but a reader that has gone does not kill us: errno is EPIPE.
ssize_t write_unhurt(const Descriptor& to, std::string_view text);

class Feed {
 public:
  Feed() = default;
  // `text` outlives the feed. The input's end is told once all is written.
  Feed(Descriptor to, std::string_view text);

  int descriptor() const { return to_.get(); }  // to wait for until it can be written to; -1: all is done
  void write_some();                            // a reader that has gone ends the feed, and does not kill us

 private:
  Descriptor to_;
  std::string_view left_;
};

}  // namespace skald::process
