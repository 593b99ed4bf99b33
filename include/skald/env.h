// What the engine may not reach for by itself: time, randomness, and the places
// where a test may make it fail. Handed in, so that one seed decides a whole run.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "skald/time.h"

namespace skald {

// A monotonic reading; means nothing outside of its process.
using Instant = std::chrono::time_point<std::chrono::steady_clock, Duration>;

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Time now() const = 0;         // wall clock: may jump
  virtual Instant steady() const = 0;   // never jumps, never runs back
};

class Random {
 public:
  virtual ~Random() = default;
  virtual std::uint64_t next() = 0;     // thread safe
};

struct Span;  // skald/trace.h

// What an operator must be able to count or be woken by. Called from any
// thread, must not block and must not throw.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void count(std::string_view /*metric*/, std::int64_t /*by*/ = 1) {}
  virtual void gauge(std::string_view /*metric*/, double /*value*/) {}
  virtual void timing(std::string_view /*metric*/, Duration /*took*/) {}
  enum class Level { debug, info, warn, error, critical };
  // `fields` is the inside of a JSON object ("\"key\":\"a\",\"n\":1") or empty.
  virtual void log(Level, std::string_view /*message*/, std::string_view /*fields*/ = {}) {}
  // False: nobody hears of spans, so nobody makes any. The same for as long as the engine runs.
  virtual bool traces() const { return false; }
  virtual void span(const Span&) {}
};

// Everything handed in, by reference; outlives what it is given to.
struct Env {
  Clock& clock;
  Random& random;
  Observer& observer;
};

// The real ones.
std::unique_ptr<Clock> system_clock();
std::unique_ptr<Random> system_random();
Observer& silent_observer();

}  // namespace skald
