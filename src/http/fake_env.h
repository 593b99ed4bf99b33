// For the tests of this folder: time that stands still, counted randomness, and
// an observer that remembers.
#pragma once

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "skald/env.h"

namespace skald::http {

struct FakeClock final : Clock {
  Time now() const override { return from_micros(micros + ahead); }
  Instant steady() const override { return Instant(Duration(micros)); }
  std::atomic<std::int64_t> micros = 1'800'000'000'000'000;
  std::atomic<std::int64_t> ahead = 0;  // of the wall clock alone
};

struct CountingRandom final : Random {
  std::uint64_t next() override { return 0x9e3779b97f4a7c15 * ++drawn; }
  std::atomic<std::uint64_t> drawn = 0;
};

struct RecordingObserver final : Observer {
  void count(std::string_view metric, std::int64_t by = 1) override {
    const std::lock_guard lock(mutex);
    counts[std::string(metric)] += by;
  }
  void log(Level level, std::string_view message, std::string_view fields = {}) override {
    const std::lock_guard lock(mutex);
    lines.emplace_back(level, std::string(message) + " " + std::string(fields));
  }
  std::mutex mutex;
  std::map<std::string, std::int64_t> counts;
  std::vector<std::pair<Level, std::string>> lines;
};

struct FakeEnv {
  FakeClock clock;
  CountingRandom random;
  RecordingObserver observer;
  Env env{clock, random, observer};
};

}  // namespace skald::http
