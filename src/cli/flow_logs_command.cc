// skald flow logs
#include <algorithm>
#include <ostream>

#include "cli/command.h"
#include "cli/flow_logs.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"
#include "skald/text.h"

namespace skald::cli {
namespace {

constexpr Duration kNextLook = 500ms;

bool has_begun(const JsonView& task) { return !task["run"].empty(); }

// A task of a work that was stopped or cancelled writes no more either.
bool has_ended(const JsonView& work, const JsonView& task) {
  const std::string of_task = task["status"], of_work = work["status"];
  return of_task == "COMPLETED" || of_task == "FAILED" || (of_work != "PENDING" && of_work != "RUNNING");
}

class Log {
 public:
  Log(const Api& api, std::string work_path, std::string n, bool as_json, std::ostream& out)
      : api_(api), work_path_(std::move(work_path)), n_(std::move(n)), as_json_(as_json), out_(out) {}

  // All that there is from where the last time ended. Another run of the task begins anew.
  void print_new(const std::string& run) {
    if (run != run_) {
      print_rest();
      offset_ = 0;
      run_ = run;
    }
    while (true) {
      const std::string bytes = ask(api_, "GET", work_path_ + "/tasks/" + http::encode_segment(n_) + "/output",
                                    {{"offset", std::to_string(offset_)}});
      if (bytes.empty()) break;
      offset_ += bytes.size();
      rest_ += bytes;
      const std::size_t whole = rest_.size() - unfinished_bytes(rest_);
      print(rest_.substr(0, whole));
      rest_.erase(0, whole);
    }
    out_.flush();
  }
  void print_rest() {
    print(rest_);
    rest_.clear();
  }

 private:
  void print(const std::string& text) {
    if (text.empty()) return;
    if (as_json_)
      print_json(out_, "{\"task\":" + n_ + ",\"run\":" + to_json(run_) +
                           ",\"text\":" + to_json(cut_text(text, text.size())) + "}");
    else out_ << printable(text, "\n\t");
  }

  const Api& api_;
  const std::string work_path_, n_;
  const bool as_json_;
  std::ostream& out_;
  std::string run_, rest_;  // the beginning of a character that is not whole yet
  std::size_t offset_ = 0;
};

}  // namespace

JsonView task_numbered(const JsonView& work, const std::string& n) {
  for (const JsonView& task : work.items("tasks"))
    if (task["n"] == n) return task;
  throw NotFound("TASK_NOT_FOUND", "the work has no task " + cut_text(n, 20) + "; they count from 1");
}

std::string chosen_task(const Arguments& arguments, const JsonView& work) {
  if (arguments.flags.contains("task")) return arguments.flag("task");
  std::string out = arguments.flags.contains("follow") ? "1" : "";
  for (const JsonView& task : work.items("tasks"))
    if (has_begun(task)) out = task["n"];
  if (out.empty())
    throw NotFound("TASK_NOT_BEGUN", "no task of this work has begun: wait for its output with --follow");
  return out;
}

int run_flow_logs(const Arguments& arguments, const Api& api, const Wait& wait, std::ostream& out) {
  const std::string path = "/agentflow/works/" + http::encode_segment(arguments.operands[0]);
  JsonView work(ask(api, "GET", path));
  const std::string n = chosen_task(arguments, work);
  Log log(api, path, n, arguments.json(), out);
  while (true) {
    const JsonView task = task_numbered(work, n);
    // Looked at before the output is read: what came before the end is read, too.
    const bool last = !arguments.flags.contains("follow") || has_ended(work, task);
    log.print_new(task["run"]);
    if (last || !out) break;  // nobody reads it any more
    wait(kNextLook);
    work = JsonView(ask(api, "GET", path));
  }
  log.print_rest();
  return kDone;
}

}  // namespace skald::cli
