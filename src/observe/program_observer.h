// What a program is observed by: its metrics and its log.
#pragma once

#include "observe/json_log.h"
#include "observe/metrics.h"
#include "skald/env.h"

namespace skald {

// Both are referred to and outlive it. Thread safe.
class ProgramObserver final : public Observer {
 public:
  ProgramObserver(Metrics& metrics, JsonLog& log) : metrics_(metrics), log_(log) {}

  void count(std::string_view metric, std::int64_t by) override { metrics_.count(metric, by); }
  void gauge(std::string_view metric, double value) override { metrics_.gauge(metric, value); }
  void timing(std::string_view metric, Duration took) override { metrics_.timing(metric, took); }
  void log(Level level, std::string_view message, std::string_view fields) override {
    log_.write(level, message, fields);
  }

 private:
  Metrics& metrics_;
  JsonLog& log_;
};

}  // namespace skald
