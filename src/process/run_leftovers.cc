#include "process/run_leftovers.h"

#include <poll.h>

#include <algorithm>

#include "process/process_table.h"
#include "process/small_file.h"

namespace skald::process {
namespace {

constexpr Duration kSettleMax = 10s;

// Of the run by its variable, or by the program's session. That number is the program's pid: nobody else can have it
// while one of the session lives, unless the program itself has it no more and another process has come by it since.
bool is_of_run(const ProcessRow& row, const std::string& variable, const std::optional<RunBegun>& begun) {
  if (row.dead()) return false;
  if (was_given(row.pid, variable)) return true;
  if (!begun || row.started < begun->ticks) return false;
  if (row.pid == begun->pid) return row.started == begun->ticks;
  if (row.session != begun->pid) return false;
  const auto leader = process_row(static_cast<pid_t>(begun->pid));
  return !leader || leader->started == begun->ticks;
}

std::vector<ProcessRow> left_of_run(const std::string& variable, const std::optional<RunBegun>& begun) {
  std::vector<ProcessRow> out;
  for (const ProcessRow& row : all_processes()) {
    if (!is_of_run(row, variable, begun)) continue;
    out.push_back(row);
    for (const ProcessRow& child : descendants_of(row.pid))
      if (!child.dead()) out.push_back(child);
  }
  return out;
}

// A process may start another between two looks: two in a row that find none are sure of it.
bool end_all(const Clock& clock, const std::string& variable, const std::optional<RunBegun>& begun) {
  const Instant latest = clock.steady() + kSettleMax;
  for (int clean = 0; clean < 2;) {
    const std::vector<ProcessRow> left = left_of_run(variable, begun);
    for (const ProcessRow& row : left) kill_exactly(row);
    clean = left.empty() ? clean + 1 : 0;
    if (clock.steady() >= latest) return false;
    if (!left.empty()) poll(nullptr, 0, 2);
  }
  return true;
}

RunEnded written(const RunFolder& run, RunEnded ended) {
  if (const int error = write_small_file(run.path(), "end", to_json(ended), Durable::yes))
    throw Unavailable("RUN_NOT_SETTLED",
                      "the end of the run in '" + run.path() + "' cannot be written: " + reason_of(error));
  return ended;
}

}  // namespace

RunEnded end_interrupted(const Clock& clock, const RunFolder& run) {
  const auto asked = run.asked();
  auto begun = run.begun();
  if (begun && begun->boot != boot_id()) begun.reset();
  if (asked && !end_all(clock, std::string(kRunVariable) + "=" + asked->token, begun))
    throw Unavailable("RUN_NOT_SETTLED", "processes of the interrupted run in '" + run.path() +
                                             "' do not end: look at the machine, it is tried again later");
  return written(run, {.end = {.outcome = RunOutcome::INTERRUPTED,
                               .why = "its supervisor ended before it: it was killed, or the machine stopped",
                               .at = clock.now()},
                       .output_lost = run.lost()});
}

RunEnded end_unbegun(const Clock& clock, const RunFolder& run, const std::string& why) {
  return written(run, {.end = {.outcome = RunOutcome::KILLED, .why = why, .at = clock.now()}});
}

}  // namespace skald::process
