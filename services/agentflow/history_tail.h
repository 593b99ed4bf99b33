// The end of a workflow's history as its streams share it: kept in memory, read once per change for all of them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "agentflow/history.h"

namespace agentflow {

// An event of the stream, ready to be sent.
struct HistoryLine {
  std::int64_t position = 0;
  std::string text;
};

struct HistoryTail {
  std::int64_t last = 0;  // position
  bool gone = false;      // the workflow is deleted
  std::vector<std::shared_ptr<const HistoryLine>> lines;  // the last ones, without gaps

  std::int64_t floor() const { return last - static_cast<std::int64_t>(lines.size()); }
};

std::string sse_text(const Happening& one);

// What follows `before`; null: from now on.
HistoryTail read_tail(skald::Database& db, const std::string& workflow_id, const HistoryTail* before);

}  // namespace agentflow
