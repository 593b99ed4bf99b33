// An observer that keeps the spans it hears of, once a test wants them, and the lines of the log; any thread may speak.
#pragma once

#include <atomic>
#include <mutex>
#include <string>
#include <vector>

#include "skald/trace.h"

namespace skald::test {

inline const std::string kSampled = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

class SpanListener final : public Observer {
 public:
  bool traces() const override { return wants; }
  void span(const Span& span) override {
    const std::lock_guard lock(mutex_);
    heard_.push_back(span);
  }
  void log(Level level, std::string_view message, std::string_view fields = {}) override {
    const std::lock_guard lock(mutex_);
    lines_.push_back({level, std::string(message), "{" + std::string(fields) + "}"});
  }
  struct Line {
    Level level;
    std::string message, fields;  // a JSON object
  };
  std::vector<Line> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }
  std::vector<Span> heard() const {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  // The last of that name; one without any ids where there is none.
  Span named(const std::string& name) const {
    const std::lock_guard lock(mutex_);
    for (auto span = heard_.rbegin(); span != heard_.rend(); ++span)
      if (span->name == name) return *span;
    return {};
  }

  std::atomic<bool> wants = false;

 private:
  mutable std::mutex mutex_;  // guards the rest
  std::vector<Span> heard_;
  std::vector<Line> lines_;
};

}  // namespace skald::test
