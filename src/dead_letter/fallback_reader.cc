#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "dead_letter/fallback_file.h"
#include "dead_letter/fallback_line.h"
#include "skald/error.h"

namespace skald {
namespace {

[[noreturn]] void unreadable(int error) {
  throw Unavailable("FALLBACK_FILE", std::string("the fallback file cannot be read: ") + std::strerror(error));
}

// Puts lines together out of chunks, and forgets those that grow too long.
class LineReader {
 public:
  using Record = std::function<void(std::string_view)>;
  using Corrupt = std::function<void(std::uint64_t, std::string_view)>;
  LineReader(const Record& record, const Corrupt& corrupt) : record_(record), corrupt_(corrupt) {}

  void feed(std::string_view chunk) {
    while (!chunk.empty()) {
      const std::size_t end = chunk.find('\n');
      hold(chunk.substr(0, end));
      if (end == std::string_view::npos) return;
      end_line();
      chunk.remove_prefix(end + 1);
    }
  }

  // What lacks only its newline is whole all the same.
  FallbackCounts end() {
    if (!line_.empty() || too_long_) end_line();
    return counts_;
  }

 private:
  void hold(std::string_view part) {
    if (!too_long_ && line_.size() + part.size() >= FallbackFile::kLineMax) {
      too_long_ = true;
      line_ = std::string();
    }
    if (!too_long_) line_ += part;
  }

  void end_line() {
    ++number_;
    const FallbackLine line = too_long_ ? FallbackLine{std::nullopt, "too long"} : parse_fallback_line(line_);
    if (line.record) {
      ++counts_.records;
      record_(*line.record);
    } else if (too_long_ || !line_.empty()) {
      ++counts_.corrupt;
      corrupt_(number_, line.why);
    }
    line_.clear();
    too_long_ = false;
  }

  const Record& record_;
  const Corrupt& corrupt_;
  FallbackCounts counts_;
  std::string line_;
  std::uint64_t number_ = 0;
  bool too_long_ = false;
};

}  // namespace

FallbackCounts read_fallback_file(const std::string& path, const std::function<void(std::string_view record)>& record,
                                  const std::function<void(std::uint64_t line, std::string_view why)>& corrupt) {
  const FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file && errno == ENOENT) return {};
  if (!file) unreadable(errno);
  LineReader lines(record, corrupt);
  char chunk[64 * 1024];
  for (;;) {
    const ssize_t got = ::read(file.get(), chunk, sizeof chunk);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) unreadable(errno);
    if (got == 0) return lines.end();
    lines.feed({chunk, static_cast<std::size_t>(got)});
  }
}

}  // namespace skald
