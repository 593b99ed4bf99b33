// Sends the program's spans to the collector of `otlp.endpoint` while it lives, where one is set.
#pragma once

#include <memory>

#include "host/program.h"
#include "runtime/tracing.h"

namespace skald::host {

// To be made before, and destroyed after, everything that is observed: in between nobody may
// find the exporter half there. Destroying it takes up to 1.5 s, where the collector is slow.
class SpanExport {
 public:
  // Invalid (BAD_SETTING).
  explicit SpanExport(Program& program);
  SpanExport(const SpanExport&) = delete;
  SpanExport& operator=(const SpanExport&) = delete;
  ~SpanExport();

 private:
  Program& program_;
  std::unique_ptr<runtime::Tracing> tracing_;
};

}  // namespace skald::host
