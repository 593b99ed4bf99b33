// What happened to a workflow: its events in the order in which they were handled, under positions 1, 2, 3, … that have no
// gaps. A position is visible only when all before it are: whoever appends changes the workflow's one Story, so the next
// one waits for its commit.
//
// The newest kHistoryKept are kept. All of it goes with the workflow, and nothing is appended to one that is gone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "agentflow/record.h"
#include "skald/aggregate.h"
#include "skald/bus.h"
#include "skald/database.h"

namespace agentflow {

inline constexpr std::int64_t kHistoryKept = 10'000;

// The head of a workflow's history; made with the workflow.
struct Story {
  std::string workflow_id;
  std::int64_t last = 0;  // position
  std::int64_t version = 0;
};
BOOST_DESCRIBE_STRUCT(Story, (), (workflow_id, last, version))

struct Happening {
  std::string workflow_id;
  std::int64_t position = 0;
  std::string event_id;
  skald::Time at{};  // when it was emitted
  std::string type;  // "agentflow.work-started"
  skald::RawJson payload{"{}"};
};
BOOST_DESCRIBE_STRUCT(Happening, (), (workflow_id, position, event_id, at, type, payload))

// Whom an event is about.
struct Subject {
  std::string workflow_id;
  std::string work_id;  // empty: of no work
};
// None: of no workflow, or of a work that is gone.
std::optional<Subject> subject_of(skald::Transaction& tx, const skald::Message& message);

// An event that is there already is left as it is; one of a workflow that is gone is dropped. To be called last in a
// transaction: it holds the Story until the commit.
void append_history(skald::Transaction& tx, const std::string& workflow_id, const skald::Message& message,
                    std::int64_t kept = kHistoryKept);

std::vector<Happening> history_after(skald::Transaction& tx, const std::string& workflow_id, std::int64_t position,
                                     std::size_t most);

// "work-started"
std::string short_type(const Happening& one);

}  // namespace agentflow

template <> struct skald::Table<agentflow::Story> {
  static constexpr std::string_view name = "flow_story", key = "workflow_id";
};
template <> struct skald::OnConflict<agentflow::Story> {
  static constexpr int retries = 3;
};
template <> struct skald::Table<agentflow::Happening> {
  static constexpr std::string_view name = "flow_history", key = "event_id";
};
