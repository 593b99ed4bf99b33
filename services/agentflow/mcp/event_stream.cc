#include "agentflow/mcp/event_stream.h"

#include <utility>

namespace agentflow {

std::vector<std::string> McpEventStream::feed(std::string_view piece) {
  std::vector<std::string> events;
  for (const char c : piece) {
    const bool second_half = c == '\n' && after_return_;
    after_return_ = c == '\r';
    if (second_half) continue;
    if (c == '\n' || c == '\r') end_line(events);
    else line_ += c;
  }
  return events;
}

void McpEventStream::end_line(std::vector<std::string>& events) {
  const std::string line = std::exchange(line_, {});
  if (line.empty()) {
    if (!data_.empty()) events.push_back(std::exchange(data_, {}));
    has_data_ = false;
    return;
  }
  const std::string_view name = std::string_view(line).substr(0, line.find(':'));
  if (name != "data") return;
  std::string_view value = std::string_view(line).substr(std::min(line.size(), name.size() + 1));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (std::exchange(has_data_, true)) data_ += '\n';
  data_ += value;
}

}  // namespace agentflow
