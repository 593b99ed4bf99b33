#include "agentflow/work_output.h"

#include <charconv>

#include "skald/text.h"

namespace agentflow {
namespace {

struct TaskNews {
  int task = 0, attempt = 0;
  std::string run;
  bool ended = false;
  std::optional<TaskStatus> status = {};
  std::optional<skald::RunOutcome> outcome = {};
  std::optional<int> exit_code = {};
  std::optional<std::string> error = {};
};
BOOST_DESCRIBE_STRUCT(TaskNews, (), (task, attempt, run, ended, status, outcome, exit_code, error))

struct OutputPart {
  int task = 0;
  std::string run;
  std::int64_t offset = 0;
  std::string text;
};
BOOST_DESCRIBE_STRUCT(OutputPart, (), (task, run, offset, text))

struct OutputEnd {
  std::string work_id;
  std::optional<WorkStatus> status = {};
  std::optional<std::string> error = {};
};
BOOST_DESCRIBE_STRUCT(OutputEnd, (), (work_id, status, error))

std::string run_of(const WatchedWork& work, const OutputPlace& place) {
  return work.id + "." + std::to_string(place.n) + "." + std::to_string(place.attempt);
}

template <class Data>
std::string output_event(std::string_view name, const OutputPlace& place, const Data& data) {
  return "id: " + id_of(place) + "\nevent: " + std::string(name) + "\ndata: " + skald::to_json(data) + "\n\n";
}

const Task* task_at(const WatchedWork& work, int n) {
  const auto found = std::ranges::find(work.tasks, n, &Task::n);
  return found == work.tasks.end() ? nullptr : &*found;
}

bool is_active(const WatchedWork& work) {
  return !work.gone && (work.status == WorkStatus::PENDING || work.status == WorkStatus::RUNNING);
}

std::optional<OutputPlace> next_run(const WatchedWork& work, const OutputPlace& place) {
  for (const Task& task : work.tasks) {
    if (task.n < place.n) continue;
    const int attempt = task.n == place.n ? place.attempt + 1 : 1;
    if (attempt <= task.attempt) return OutputPlace{task.n, attempt, 0, false};
  }
  return std::nullopt;
}

// Nothing more is written by it.
bool run_is_over(const WatchedWork& work, const OutputPlace& place, const OutputSource& source) {
  const Task* task = task_at(work, place.n);
  if (task == nullptr || task->attempt > place.attempt || task->status != TaskStatus::RUNNING || task->finished_at)
    return true;
  if (is_active(work)) return false;
  return work.agent_status != AgentStatus::STOPPING || !source.lives(run_of(work, place));
}

TaskNews end_of_run(const WatchedWork& work, const OutputPlace& place) {
  TaskNews out{.task = place.n, .attempt = place.attempt, .run = run_of(work, place), .ended = true};
  const Task* task = task_at(work, place.n);
  if (task == nullptr || task->attempt != place.attempt) return out;  // another run has taken its place
  out.status = task->status;
  out.outcome = task->outcome;
  out.exit_code = task->exit_code;
  out.error = task->error;
  return out;
}

// Of the run at `place`; empty: there is no more for now.
std::string next_part(const WatchedWork& work, OutputPlace& place, bool over, const OutputSource& source) {
  const std::string run = run_of(work, place);
  std::string bytes = source.read(run, place.offset, kOutputChunk);
  const bool is_last = over && bytes.size() < kOutputChunk;
  if (!is_last) bytes.resize(bytes.size() - skald::unfinished_bytes(bytes));
  if (bytes.empty()) return "";
  const std::int64_t offset = place.offset;
  place.offset += static_cast<std::int64_t>(bytes.size());
  return output_event("output", place, OutputPart{place.n, run, offset, skald::cut_text(bytes, bytes.size())});
}

template <class Number>
bool take_number(std::string_view& text, Number& out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out < 0) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

bool take_dot(std::string_view& text) {
  if (!text.starts_with('.')) return false;
  text.remove_prefix(1);
  return true;
}

}  // namespace

std::string id_of(const OutputPlace& place) {
  return std::to_string(place.n) + "." + std::to_string(place.attempt) + "." + std::to_string(place.offset) +
         (place.ended ? ".x" : "");
}

std::optional<OutputPlace> place_of(std::string_view id) {
  OutputPlace out;
  if (!take_number(id, out.n) || !take_dot(id) || !take_number(id, out.attempt) || !take_dot(id) ||
      !take_number(id, out.offset))
    return std::nullopt;
  out.ended = id == ".x";
  if (!out.ended && !id.empty()) return std::nullopt;
  return out;
}

WatchedWork read_watched(skald::Database& db, const std::string& work_id) {
  const auto work = db.read_result([&](skald::Transaction& tx) { return tx.find<Work>(work_id); });
  if (!work) return {.id = work_id, .gone = true};
  WatchedWork out{.id = work_id,
                  .status = work->status,
                  .agent_status = work->agent_status,
                  .error = work->error,
                  .tasks = in_column<Tasks>(work->tasks)};
  for (Task& task : out.tasks) std::string().swap(task.prompt);
  return out;
}

std::optional<std::string> next_output(const WatchedWork& work, OutputPlace& place, bool& end_told,
                                       const OutputSource& source) {
  if (end_told) return std::nullopt;
  std::string out;
  while (out.size() < kOutputChunk && !work.gone) {
    if (place.ended) {
      const auto next = next_run(work, place);
      if (!next) break;
      place = *next;
      out +=
          output_event("task", place, TaskNews{.task = place.n, .attempt = place.attempt, .run = run_of(work, place)});
    }
    const bool over = run_is_over(work, place, source);
    const std::string part = next_part(work, place, over, source);
    out += part;
    if (!part.empty()) continue;
    if (!over) break;
    place.ended = true;
    out += output_event("task", place, end_of_run(work, place));
  }
  if (!out.empty() || is_active(work) || (!work.gone && !place.ended)) return out;
  end_told = true;
  return output_event("end", place,
                      OutputEnd{work.id, work.gone ? std::nullopt : std::optional(work.status), work.error});
}

}  // namespace agentflow
