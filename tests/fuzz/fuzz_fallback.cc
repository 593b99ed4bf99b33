// Any bytes as a line of the fallback file: a record that formats to the same
// line, or a reason why not.
#include <cstdlib>

#include "dead_letter/fallback_line.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  if (line.find('\n') != std::string_view::npos) return 0;
  const skald::FallbackLine parsed = skald::parse_fallback_line(line);
  if (parsed.record ? skald::format_fallback_line(*parsed.record) != std::string(line) + "\n" : parsed.why.empty())
    std::abort();
  return 0;
}
