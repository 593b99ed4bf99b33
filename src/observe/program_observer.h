// What a program is observed by: its metrics, its log and, where it has an exporter, its spans.
#pragma once

#include "observe/json_log.h"
#include "observe/metrics.h"
#include "observe/span_queue.h"
#include "skald/env.h"

namespace skald {

// What it is given is referred to and outlives its use. Thread safe but for export_to().
class ProgramObserver final : public Observer {
 public:
  ProgramObserver(Metrics& metrics, JsonLog& log) : metrics_(metrics), log_(log) {}

  void count(std::string_view metric, std::int64_t by) override { metrics_.count(metric, by); }
  void gauge(std::string_view metric, double value) override { metrics_.gauge(metric, value); }
  void timing(std::string_view metric, Duration took) override { metrics_.timing(metric, took); }
  void log(Level level, std::string_view message, std::string_view fields) override {
    log_.write(level, message, fields);
  }
  bool traces() const override { return spans_ != nullptr; }
  void span(const Span& span) override {
    if (spans_ != nullptr && !spans_->put(span)) metrics_.count("spans_dropped_total", 1);
  }

  // While no thread of the engine runs; null: no spans are made.
  void export_to(SpanQueue* spans) { spans_ = spans; }

 private:
  Metrics& metrics_;
  JsonLog& log_;
  SpanQueue* spans_ = nullptr;
};

}  // namespace skald
