// The output of all tasks of a work as one stream of events, task after task and run after run:
//
// | event  | id              | data                                                                       |
// | task   | n.attempt.0     | {task, attempt, run, ended: false}: a task begins                          |
// | output | n.attempt.end   | {task, run, offset, text}: what it wrote; `end` is the offset behind it     |
// | task   | n.attempt.end.x | {…, ended: true, status?, outcome?, exitCode?, error?}: this run is over    |
// | end    |                 | {workId, status?, error?}: nothing more comes; no status: it is deleted     |
//
// A client that comes again with the last id it had misses nothing and gets nothing twice.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "agentflow/record.h"
#include "skald/database.h"

namespace agentflow {

inline constexpr std::size_t kOutputChunk = 64 * 1024;  // bytes of one event

// How far a stream has come.
struct OutputPlace {
  int n = 0, attempt = 0;
  std::int64_t offset = 0;
  bool ended = true;  // and that this run is over has been told
  bool operator==(const OutputPlace&) const = default;
};
std::string id_of(const OutputPlace& place);
std::optional<OutputPlace> place_of(std::string_view id);  // none: it is no id of such a stream

// A work as far as its output goes: without prompts, which may be long.
struct WatchedWork {
  std::string id;
  bool gone = false;  // deleted
  WorkStatus status{};
  AgentStatus agent_status{};
  std::optional<std::string> error = {};
  Tasks tasks = {};
};
WatchedWork read_watched(skald::Database& db, const std::string& work_id);

struct OutputSource {
  std::function<std::string(const std::string& run, std::int64_t offset, std::size_t bytes_max)> read;
  std::function<bool(const std::string& run)> lives;  // asked only of one that was told to end
};

// What follows `place`, which moves: about kOutputChunk bytes of text at most. Empty: nothing yet. None: it has ended, and
// `end` was told. `work` must be as it was before this call.
std::optional<std::string> next_output(const WatchedWork& work, OutputPlace& place, bool& end_told,
                                       const OutputSource& source);

}  // namespace agentflow
