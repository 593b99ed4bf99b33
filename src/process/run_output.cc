#include "process/run_output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "process/small_file.h"

namespace skald::process {

RunOutput::RunOutput(const RunFolder& run, std::int64_t bytes_max)
    : output_(open(run.file("output").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)),
      lost_file_(open(run.file("lost").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)),
      room_(bytes_max) {
  lose(0);
}

void RunOutput::add(std::string_view bytes) {
  const std::string_view kept = bytes.substr(0, static_cast<std::size_t>(std::max<std::int64_t>(room_, 0)));
  const auto written = static_cast<std::int64_t>(write_all(output_.get(), kept));
  room_ -= written;
  if (const std::int64_t rest = static_cast<std::int64_t>(bytes.size()) - written; rest > 0) lose(rest);
}

// Always as many bytes: where the disk is full, those of the first time are overwritten.
void RunOutput::lose(std::int64_t bytes) {
  lost_ += bytes;
  std::string text = std::to_string(lost_);
  text.resize(20, ' ');
  [[maybe_unused]] const ssize_t written = pwrite(lost_file_.get(), text.data(), text.size(), 0);
}

std::int64_t RunOutput::close() {
  fdatasync(output_.get());
  output_.close();
  return lost_;
}

}  // namespace skald::process
