// skald flow watch, skald flow logs --follow
#include <ostream>

#include "cli/flow_follow.h"
#include "cli/flow_logs.h"
#include "cli/json_view.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

constexpr Duration kNextTry = 500ms;
constexpr int kTriesMax = 240;  // two minutes: a server that is started again

// Until `hear` returns false. `last` is where it has come to.
void follow_on(const Follow& follow, const Wait& wait, const std::string& path, std::string& last,
               const EventReader::Hear& hear) {
  bool done = false;
  for (int tries = 0; !done;) {
    const bool there = follow(path, last, [&](const StreamEvent& event) {
      if (!event.id.empty()) last = event.id;
      done = !hear(event);
      return !done;
    });
    if (done) return;
    tries = there ? 0 : tries + 1;
    if (tries > kTriesMax)
      throw Unavailable("SERVER_UNREACHABLE", "the server has gone away and does not come back: start it again");
    wait(kNextTry);
  }
}

// What a person wants to know of an event, in one line.
std::string words_of(const StreamEvent& event, const JsonView& data) {
  std::string out = data["at"] + "  " + event.name;
  const auto add = [&](std::string_view label, const std::string& value) {
    if (!value.empty()) out += "  " + std::string(label) + value;
  };
  add("work ", data["workId"]);
  add("task ", data["n"]);
  add("run ", data["run"]);
  add("git ", data["gitId"]);
  add("", data["status"]);
  add("", data.member("end")["outcome"]);
  add("", data["error"]);
  return out;
}

std::string place_before(const JsonView& task) {
  const std::string n = task["n"], run = task["run"];
  return run.empty() ? n + ".0.0.x" : n + run.substr(run.rfind('.')) + ".0";
}

bool is_settled(const std::string& status) { return status == "COMPLETED" || status == "FAILED"; }

// Prints what is of the task; false when it writes no more.
bool print_output(const StreamEvent& event, const std::string& n, bool as_json, std::ostream& out) {
  if (event.name == "end") return false;
  const JsonView data(event.data);
  if (data["task"] != n) return false;  // a later one has begun
  if (event.name == "task") return data["ended"] != "true" || !is_settled(data["status"]);
  if (as_json)
    print_json(out, "{\"task\":" + n + ",\"run\":" + to_json(data["run"]) + ",\"text\":" + to_json(data["text"]) + "}");
  else out << printable(data["text"], "\n\t");
  out.flush();
  return static_cast<bool>(out);
}

}  // namespace

int run_flow_watch(const Arguments& arguments, const Follow& follow, const Wait& wait, std::ostream& out) {
  std::string last;
  const std::string path = "/agentflow/workflows/" + http::encode_segment(arguments.operands[0]) + "/events";
  try {
    follow_on(follow, wait, path, last, [&](const StreamEvent& event) {
      if (arguments.json()) print_json(out, event.data);
      else out << printable(words_of(event, JsonView(event.data))) << '\n';
      out.flush();
      return event.name != "workflow-deleted" && out;
    });
  } catch (const Refused& refused) {
    // Deleted while nobody could tell.
    if (refused.code() != "WORKFLOW_NOT_FOUND" || last.empty()) throw;
  }
  return kDone;
}

int run_flow_follow(const Arguments& arguments, const Api& api, const Follow& follow, const Wait& wait,
                    std::ostream& out) {
  const std::string path = "/agentflow/works/" + http::encode_segment(arguments.operands[0]);
  const JsonView work(ask(api, "GET", path));
  const std::string n = chosen_task(arguments, work);
  std::string last = place_before(task_numbered(work, n));
  try {
    follow_on(follow, wait, path + "/output", last,
              [&](const StreamEvent& event) { return print_output(event, n, arguments.json(), out); });
  } catch (const Refused& refused) {
    if (refused.code() == "UNKNOWN_PATH") return run_flow_logs(arguments, api, wait, out);  // an older server
    throw;
  }
  return kDone;
}

}  // namespace skald::cli
