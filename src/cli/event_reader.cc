#include "cli/event_reader.h"

#include <utility>

namespace skald::cli {
namespace {

constexpr std::size_t kEventBytesMax = 8 << 20;

}  // namespace

bool EventReader::read(std::string_view text, const Hear& hear) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    rest_ += text.substr(0, end);
    if (rest_.size() + event_.data.size() > kEventBytesMax) return false;
    if (end == text.npos) return true;
    text.remove_prefix(end + 1);
    if (!take_line(std::exchange(rest_, {}), hear)) return false;
  }
  return true;
}

bool EventReader::take_line(std::string_view line, const Hear& hear) {
  if (line.empty()) {
    const StreamEvent whole = std::exchange(event_, {});
    return whole.data.empty() || hear(whole);
  }
  const auto take = [&](std::string_view name, std::string& to) {
    if (!line.starts_with(name)) return;
    to += (to.empty() ? "" : "\n") + std::string(line.substr(name.size()));
  };
  take("id: ", event_.id);
  take("event: ", event_.name);
  take("data: ", event_.data);
  return true;
}

}  // namespace skald::cli
