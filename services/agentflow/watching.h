// What the streams of this service share: what they look at, and the topics that wake them.
#pragma once

#include <string>
#include <string_view>

#include "agentflow/history_tail.h"
#include "agentflow/shared_reading.h"
#include "agentflow/work_output.h"

namespace agentflow {

inline constexpr std::string_view kOutputTopic = "agentflow/output";  // an agent has written, or a task has changed
inline std::string story_topic(const std::string& workflow_id) { return "agentflow/workflow/" + workflow_id; }

struct Watching {
  explicit Watching(const skald::Clock& clock) : tails(clock), works(clock) {}

  // After the commit of an event about it, before those who watch are woken.
  void changed(const Subject& subject) {
    tails.changed(subject.workflow_id);
    if (!subject.work_id.empty()) works.changed(subject.work_id);
  }

  SharedReadings<HistoryTail> tails;  // by workflow
  SharedReadings<WatchedWork> works;  // by work
};

}  // namespace agentflow
