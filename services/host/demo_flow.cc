// skald demo flow
#include <algorithm>
#include <boost/json/serialize.hpp>
#include <ostream>
#include <sstream>

#include "cli/command.h"
#include "cli/flow_await.h"
#include "cli/flow_diff.h"
#include "cli/flow_views.h"
#include "cli/output.h"
#include "host/demo_flow_plan.h"
#include "host/demo_shop.h"
#include "host/private_server.h"
#include "host/program.h"
#include "runtime/signals.h"
#include "skald/json.h"

namespace skald::host {
namespace {

namespace fs = std::filesystem;
using cli::JsonView;

const std::string kDemoFlows = "/agentflow/workflows";
constexpr Duration kQuestionMax = 30s, kLookForQuestion = 50ms;

std::string new_workflow(const std::vector<std::string>& git_ids) {
  using boost::json::array, boost::json::object;
  array refs, works;
  for (const std::string& id : git_ids) refs.emplace_back(object{{"gitId", id}});
  for (const DemoWork& work : kDemoWorks)
    works.emplace_back(
        object{{"name", work.name}, {"tasks", array{object{{"prompt", work.script}, {"agent", work.agent}}}}});
  return boost::json::serialize(
      boost::json::object{{"name", "prices"}, {"gitRefs", std::move(refs)}, {"works", std::move(works)}});
}

// Tells what happens, and checks what it tells.
class FlowStory {
 public:
  FlowStory(Program& program, const fs::path& folder, std::ostream& out)
      : out_(out),
        shop_(program.env.clock, folder / "shop"),
        data_(folder / "data"),
        server_(program.env, data_.string(), "agentflow"),
        terminal_{[this](Duration time) { rest(time); }, &out, false} {}

  void tell() {
    say("A shop has two repositories, api and web, each with a commit on main. A server of its own runs for this "
        "demo.");
    try {
      begin();
      fail_and_resume();
      look_at_changes();
      restore_a_mistake();
      bring_home();
      remove_everything();
    } catch (...) {
      clean_up();
      throw;
    }
  }

  const std::vector<std::string>& checked() const { return checked_; }

 private:
  void begin();
  void fail_and_resume();
  void answer_question();
  void look_at_changes();
  void restore_a_mistake();
  void bring_home();
  void remove_everything();

  void say(const std::string& text) { out_ << "\n* " << text << std::endl; }
  void check(bool holds, const std::string& what) {
    if (!holds) throw Refused("DEMO_FAILED", "this should hold, and does not: " + what);
    checked_.push_back(what);
    out_ << "  checked: " << what << std::endl;
  }
  void rest(Duration time) {
    if (signals_.wait(Duration::zero()))
      throw Unavailable("DEMO_STOPPED", "the demo was asked to end, and has cleaned up");
    server_.rest(time);
  }
  JsonView get(const std::string& path) { return JsonView(cli::ask(server_.api(), "GET", path)); }
  JsonView post(const std::string& path, const std::string& body = "") {
    return JsonView(cli::ask(server_.api(), "POST", path, {}, body));
  }
  // Asks for an act and follows it.
  cli::ActEnd act(const std::string& name, const std::string& path, const std::string& body = "") {
    post(flow_ + path, body);
    return cli::follow_act(server_.api(), terminal_, id_, name);
  }
  std::vector<JsonView> works() { return get(flow_ + "/works").items(); }
  fs::path in_tree(const DemoFile& file) const {
    return data_ / "agentflow/spaces" / id_ / file.repository / file.path;
  }
  bool is_empty(const char* part) const {
    return !fs::exists(data_ / "agentflow" / part) || fs::is_empty(data_ / "agentflow" / part);
  }
  void clean_up() noexcept;

  std::ostream& out_;
  DemoShop shop_;
  fs::path data_;
  runtime::StopSignals signals_;
  PrivateServer server_;
  cli::Terminal terminal_;
  std::vector<std::string> git_ids_, checked_;
  std::string id_, flow_;  // the workflow's id and path
};

void FlowStory::begin() {
  for (const std::string_view name : kDemoRepositories)
    git_ids_.push_back(post("/agentflow/gits", boost::json::serialize(boost::json::object{
                                                   {"name", name}, {"path", shop_.path(name).string()}}))["id"]);
  id_ = post(kDemoFlows, new_workflow(git_ids_))["id"];
  flow_ = kDemoFlows + "/" + id_;
  say("A workflow is to give the shop prices. Four works, each done by an agent, one after the other:");
  for (const DemoWork& work : kDemoWorks) out_ << "  - " << work.name << '\n';
  out_ << "  Each repository gets a worktree and a branch of its own for it: nobody's main is touched.\n";
}

void FlowStory::fail_and_resume() {
  say("It is started.");
  const cli::ActEnd failed = act("start", "/start");
  const auto before = works();
  check(!failed.done && before[0]["status"] == "COMPLETED" && before[1]["status"] == "FAILED",
        "the first work is done, the second has failed");
  const std::string output =
      cli::ask(server_.api(), "GET", "/agentflow/works/" + before[1]["id"] + "/tasks/1/output", {{"offset", "0"}});
  out_ << "  its agent says: " << cli::printable(output, "\n");
  check(output.find(kDemoComplaint) != output.npos && before[1].items("tasks")[0]["exitCode"] == "3",
        "the agent's words and its exit code 3 are kept");
  say("Nothing is lost. After the first work a checkpoint was taken, over both repositories:");
  const JsonView checkpoints = get(flow_ + "/checkpoints");
  cli::print_checkpoints(checkpoints, out_);
  check(checkpoints.items().size() == 1 && checkpoints.items()[0].items("commits").size() == 2,
        "one checkpoint with a commit in each repository");
  say("A person looks, writes the currency into prices.json in the worktree, and resumes.");
  write_file(in_tree(kDemoMending), kDemoMending.text);
  post(flow_ + "/resume");
  answer_question();
  const cli::ActEnd resumed = cli::follow_act(server_.api(), terminal_, id_, "resume");
  const auto after = works();
  check(resumed.done && after[0].items("tasks")[0]["attempt"] == "1" && after[1].items("tasks")[0]["attempt"] == "2",
        "all works are done; the first ran once, the second twice");
}

void FlowStory::answer_question() {
  std::vector<JsonView> open;
  for (Duration waited{}; open.empty() && waited < kQuestionMax; waited += kLookForQuestion) {
    rest(kLookForQuestion);
    open = JsonView(cli::ask(server_.api(), "GET", "/agentflow/questions", {{"status", "OPEN"}})).items();
  }
  check(open.size() == 1 && open[0]["text"] == kDemoQuestion, "the agent of the last work asks a person");
  say("It asks: " + open[0]["text"] + " A person answers: " + std::string(kDemoAnswer) + ".");
  post("/agentflow/works/" + open[0]["workId"] + "/questions/" + open[0]["id"],
       boost::json::serialize(boost::json::object{{"answer", kDemoAnswer}}));
}

void FlowStory::look_at_changes() {
  say("What did the agents do?");
  boost::json::value page = json::parse(cli::ask(server_.api(), "GET", flow_ + "/diff"));
  std::vector<std::string> changed;
  for (boost::json::value& one : page.at("items").as_array()) {
    one.as_object()["name"] = get("/agentflow/gits/" + std::string(one.at("gitId").as_string()))["name"];
    for (const auto& file : one.at("files").as_array()) changed.emplace_back(file.at("path").as_string());
  }
  cli::print_diff(JsonView(page), {}, out_);
  std::ranges::sort(changed);
  check(changed == std::vector<std::string>{"NOTICE.md", "README.md", "README.md", "index.html", "prices.html",
                                            "prices.json", "server.py"},
        "seven files have changed, and no others");
}

void FlowStory::restore_a_mistake() {
  say("Somebody deletes prices.html by mistake. The last checkpoint brings it back:");
  fs::remove(in_tree(kDemoMistake));
  const auto before = get(flow_ + "/checkpoints").items();
  const cli::ActEnd restored = act("restore", "/checkpoints/" + before.back()["id"] + "/restore");
  check(restored.done && read_file(in_tree(kDemoMistake)) == kDemoMistake.text, "prices.html is as it was");
  check(get(flow_ + "/checkpoints").items().size() == before.size() + 1,
        "what lay there before was kept as a checkpoint, too");
}

void FlowStory::bring_home() {
  say("The work goes to main of both repositories, as one commit each: in both, or in none.");
  const cli::ActEnd home = act("integrate", "/integrate", R"({"mode":"squash","target":"main"})");
  check(home.done, "the integration is done");
  for (const std::string_view name : kDemoRepositories)
    check(shop_.commits_on_main(name) == 2, "main of " + std::string(name) + " has one commit more");
  for (const DemoFile& file : kDemoResults)
    check(shop_.on_main(file.repository, file.path) == file.text,
          "main of " + std::string(file.repository) + " has " + std::string(file.path));
}

void FlowStory::remove_everything() {
  say("The workflow is deleted, with its worktrees, branches, checkpoints and files.");
  cli::ask(server_.api(), "DELETE", flow_);
  const cli::ActEnd gone = cli::follow_act(server_.api(), terminal_, id_, "delete");
  check(gone.done && gone.workflow.empty(), "the workflow is gone");
  check(shop_.left_behind().empty(), "the repositories have main and nothing else");
  check(is_empty("spaces") && is_empty("runs"), "no folder and no agent is left");
  check(get("/agentflow/invariants")["ok"] == "true", "what must hold in the tables holds");
  check(server_.stop(), "the server has ended in order");
}

// Best effort, where something went wrong: an agent must not outlive its folder.
void FlowStory::clean_up() noexcept {
  try {
    if (id_.empty()) return;
    const cli::Terminal quiet{[this](Duration time) { server_.rest(time); }, nullptr, false};
    const std::string status = get(flow_)["status"];
    if (status != "COMPLETED" && status != "CANCELLED") {
      post(flow_ + "/cancel");
      cli::follow_act(server_.api(), quiet, id_, "cancel");
    }
    cli::ask(server_.api(), "DELETE", flow_);
    cli::follow_act(server_.api(), quiet, id_, "delete");
    server_.stop();
  } catch (const std::exception&) {
    // What went wrong first is told.
  }
}

}  // namespace

int demo_flow(Program& program, std::ostream& out) {
  const bool as_json = program.arguments.json();
  std::ostringstream unheard;
  std::ostream& told = as_json ? unheard : out;
  const Instant begun = program.env.clock.steady();
  std::vector<std::string> checked;
  fs::path place;
  {
    const DemoFolder folder;
    place = folder.path();
    FlowStory story(program, folder.path(), told);
    story.tell();
    checked = story.checked();
  }
  if (fs::exists(place))
    throw Refused("DEMO_FAILED", "the demo's folder " + place.string() + " could not be removed: remove it by hand");
  const auto millis = std::chrono::duration_cast<std::chrono::milliseconds>(program.env.clock.steady() - begun).count();
  if (as_json)
    cli::print_json(out, "{\"checked\":" + to_json(checked) + ",\"milliseconds\":" + std::to_string(millis) + "}");
  else
    out << "\nAll of that was checked, " << checked.size() << " things in " << millis / 1000
        << " s, and nothing is left of it. docs/agentflow.md says how to do it with your own repositories.\n";
  return cli::kDone;
}

}  // namespace skald::host
