#include "observe/json_log.h"

#include <spdlog/logger.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>

#include "base/text.h"
#include "skald/controls.h"
#include "skald/json.h"

namespace skald {
namespace {

struct Named {
  spdlog::level::level_enum level;
  std::string_view name;
};

Named named(Observer::Level level) {
  switch (level) {
    case Observer::Level::debug: return {spdlog::level::debug, "debug"};
    case Observer::Level::info: return {spdlog::level::info, "info"};
    case Observer::Level::warn: return {spdlog::level::warn, "warn"};
    case Observer::Level::error: return {spdlog::level::err, "error"};
    case Observer::Level::critical: break;
  }
  return {spdlog::level::critical, "critical"};
}

}  // namespace

JsonLog::JsonLog(const Clock& clock, Observer::Level lowest)
    : JsonLog(clock, lowest, std::make_shared<spdlog::sinks::stderr_sink_mt>()) {}

JsonLog::JsonLog(const Clock& clock, Observer::Level lowest, std::shared_ptr<spdlog::sinks::sink> sink)
    : clock_(clock), logger_(std::make_unique<spdlog::logger>("skald", std::move(sink))) {
  // %v does not escape: the line comes whole.
  logger_->set_formatter(std::make_unique<spdlog::pattern_formatter>("%v", spdlog::pattern_time_type::utc, "\n"));
  logger_->set_error_handler([](const std::string&) {});
  set_lowest(lowest);
}

JsonLog::~JsonLog() = default;

void JsonLog::set_lowest(Observer::Level lowest) { logger_->set_level(named(lowest).level); }

void JsonLog::write(Observer::Level level, std::string_view message, std::string_view fields) noexcept {
  const Named name = named(level);
  if (!logger_->should_log(name.level)) return;
  std::string line =
      "{\"time\":\"" + format_time(clock_.now()) + "\",\"level\":\"" + std::string(name.name) + "\",\"message\":";
  json::write_string(line, is_utf8(message) ? message : cut_text(message, message.size()));
  if (!fields.empty()) line.append(",").append(fields);
  line += '}';
  if (has_controls(line)) line = escape_controls(line);  // somebody may watch it on a terminal
  logger_->log(name.level, spdlog::string_view_t(line.data(), line.size()));
}

}  // namespace skald
