// The log: one JSON object per line on stderr.
//
//   {"time":"2026-11-15T20:41:08.123Z","level":"info","message":"serving","address":"127.0.0.1:8080"}
//
// Thread safe; lines never mix. A line that cannot be written is lost: a full
// pipe must not stop the engine.
#pragma once

#include <memory>
#include <string_view>

#include "skald/env.h"

namespace spdlog {
class logger;
namespace sinks {
class sink;
}
}  // namespace spdlog

namespace skald {

class JsonLog {
 public:
  JsonLog(const Clock& clock, Observer::Level lowest);
  JsonLog(const Clock& clock, Observer::Level lowest, std::shared_ptr<spdlog::sinks::sink> sink);
  ~JsonLog();

  // `fields` is the inside of a JSON object, or empty.
  void write(Observer::Level level, std::string_view message, std::string_view fields) noexcept;

  void set_lowest(Observer::Level lowest);

 private:
  const Clock& clock_;
  std::unique_ptr<spdlog::logger> logger_;
};

}  // namespace skald
