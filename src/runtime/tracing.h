// The thread that sends spans to a collector (observe/otlp_exporter.h).
#pragma once

#include "observe/otlp_exporter.h"
#include "runtime/loop.h"

namespace skald::runtime {

class Tracing {
 public:
  // Sends from here on. What `env` refers to outlives it. Invalid (OTLP_…).
  Tracing(const Env& env, OtlpOptions options);
  Tracing(const Tracing&) = delete;
  Tracing& operator=(const Tracing&) = delete;

  // Where spans are put; does not block.
  SpanQueue& spans() { return queue_; }

  // Sends what is there, for up to `grace`; the rest is dropped. Once, by the thread that made it.
  void stop(Duration grace);

 private:
  SpanQueue queue_;
  OtlpExporter exporter_;  // in the loop's thread
  Wakeup ended_;
  Loop loop_;  // last: its thread uses the others
};

}  // namespace skald::runtime
