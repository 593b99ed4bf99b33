// Reads a stream of server-sent events piece by piece; of an event its data counts, the rest is passed over.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace agentflow {

class McpEventStream {
 public:
  // The data of the events that are whole now, in their order. An event without data is none.
  std::vector<std::string> feed(std::string_view piece);

 private:
  void end_line(std::vector<std::string>& events);

  std::string line_, data_;
  bool has_data_ = false;
  bool after_return_ = false;  // a line feed that follows belongs to it
};

}  // namespace agentflow
