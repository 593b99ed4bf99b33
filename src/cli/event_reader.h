// The text of a server-sent event stream, taken apart as it comes.
#pragma once

#include <functional>
#include <string>
#include <string_view>

namespace skald::cli {

struct StreamEvent {
  std::string id, name, data;
};

class EventReader {
 public:
  using Hear = std::function<bool(const StreamEvent&)>;

  // Hands over the events that `text` completes; comments and unknown fields are passed over. False: `hear` wants no more,
  // or an event is longer than 8 MiB.
  bool read(std::string_view text, const Hear& hear);

 private:
  bool take_line(std::string_view line, const Hear& hear);

  std::string rest_;  // the beginning of a line
  StreamEvent event_;
};

}  // namespace skald::cli
