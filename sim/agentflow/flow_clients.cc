#include "sim/agentflow/flow_clients.h"

#include "sim/signals.h"

namespace skald::sim {
namespace {

constexpr int kWorkflowsMax = 7;
constexpr const char* kSideBranch = "release";

std::string quoted(const std::string& text) { return to_json(text); }

Request flow_request(std::string method, std::string path, std::string body, const std::string& key) {
  Request out;
  out.method = std::move(method);
  out.path = std::move(path);
  out.body = std::move(body);
  if (!key.empty()) out.headers["idempotency-key"] = key;
  return out;
}

}  // namespace

std::vector<FlowClients::Known> FlowClients::known(const std::string& sql) {
  std::vector<Known> out;
  stage_.look([&](Transaction& tx) {
    const Rows rows = tx.query(sql);
    for (std::size_t i = 0; i < rows.size(); ++i)
      out.push_back({rows.get<std::string>(i, 0), rows.get<std::string>(i, 1)});
  });
  return out;
}

// Mostly one that takes it, as its client believes.
std::optional<std::string> FlowClients::workflow_in(std::string_view states) {
  auto all = known("SELECT id, status FROM flow_workflow ORDER BY id");
  if (!stage_.dice.chance(150))
    std::erase_if(all, [&](const Known& one) { return states.find(one.status) == states.npos; });
  return all.empty() ? std::nullopt : std::optional(stage_.dice.pick(all).id);
}

void FlowClients::prepare() {
  for (const char* name : {"a", "b", "remote"}) git_.make_repository(stage_.folder.file("repos/" + std::string(name)));
  for (const std::string name : {"a", "b"})
    ask("POST", "/agentflow/gits",
        R"({"name":)" + quoted(name) + R"(,"path":)" + quoted(stage_.folder.file("repos/" + name)) + "}");
  for (const std::string name : {"x", "y"})
    ask("POST", "/agentflow/mcp-servers", R"({"name":)" + quoted(name) + R"(,"command":"serve"})");
}

void FlowClients::ask(std::string method, std::string path, std::string body) {
  wishes_.push_back(
      {std::move(method), std::move(path), std::move(body), "wish-" + std::to_string(wishes_.size()), "", false});
  send(wishes_.size() - 1);
}

// The first time, because no answer came, or for no reason.
void FlowClients::send(std::size_t index) {
  const Wish wish = wishes_[index];  // others may ask meanwhile
  const auto answer = site_.call(flow_request(wish.method, wish.path, wish.body, wish.key));
  if (!answer || answer->status >= 500) return;
  Wish& same = wishes_[index];
  if (answer->status == 409 || answer->status == 503) {
    same.settled = same.settled || answer->body.find("WRONG_STATE") != std::string::npos;
    return;
  }
  if (answer->status == 201) {
    const std::string made(json::parse(answer->body).as_object().at("id").as_string());
    if (!same.made.empty() && same.made != made)
      throw BrokenInvariant{"F9", "key " + wish.key + " has made " + same.made + " and " + made};
    same.made = made;
  }
  same.settled = true;
}

void FlowClients::ask_again() {
  std::vector<std::size_t> open;
  for (std::size_t i = 0; i < wishes_.size(); ++i)
    if (!wishes_[i].settled || stage_.dice.chance(20)) open.push_back(i);
  if (open.empty()) return;
  stage_.markers.hit(Marker::flow_asked_again);
  send(stage_.dice.pick(open));
}

void FlowClients::act() {
  const int choice = stage_.dice.between(0, 99);
  if (choice < 12) create();
  else if (choice < 26) move("start", "CREATED");
  else if (choice < 32) move("pause", "READY RUNNING");
  else if (choice < 44) move("resume", "PAUSED FAILED");
  else if (choice < 47) move("cancel", "CREATED STARTING READY RUNNING PAUSING PAUSED RESUMING FAILED");
  else if (choice < 52) remove();
  else if (choice < 61) modify();
  else if (choice < 65) move("checkpoints", "READY PAUSED FAILED COMPLETED");
  else if (choice < 71) restore();
  else if (choice < 78) integrate();
  else if (choice < 86) answer();
  else if (choice < 89) query();
  else if (choice < 91) complete();
  else if (choice < 95) change_gits();
  else if (choice < 96) change_servers();
  else ask_again();
}

std::string FlowClients::refs() {
  const auto gits = known("SELECT id, status FROM flow_git WHERE status = 'READY' ORDER BY id");
  std::string out;
  for (const Known& git : gits) {
    if (!stage_.dice.chance(650)) continue;
    out += (out.empty() ? "" : ",") + (R"({"gitId":)" + quoted(git.id));
    if (stage_.dice.chance(150)) out += R"(,"baseBranch":)" + quoted(kSideBranch);
    out += "}";
  }
  if (out.empty() && !gits.empty()) out = R"({"gitId":)" + quoted(gits[0].id) + "}";
  return "[" + out + "]";
}

std::string FlowClients::work(int number) {
  static constexpr const char* agents[] = {"waits", "leaves", "careless"};
  std::string tasks, servers;
  for (int i = stage_.dice.between(1, 2); i > 0; --i)
    tasks +=
        std::string(tasks.empty() ? "" : ",") + R"({"prompt":"work","agent":")" + stage_.dice.pick(agents) + R"("})";
  for (const Known& server : known("SELECT id, name FROM flow_mcp_server ORDER BY id"))
    if (stage_.dice.chance(400)) servers += (servers.empty() ? "" : ",") + quoted(server.id);
  std::string out = R"({"name":"work )" + std::to_string(number) + R"(","tasks":[)" + tasks + R"(],"mcpServerRefs":[)" +
                    servers + R"(],"wantsReport":)" + (stage_.dice.chance(300) ? "true" : "false");
  if (stage_.dice.chance(500)) out += R"(,"parallel":"side by side")";
  return out + "}";
}

void FlowClients::create() {
  if (std::ssize(known("SELECT id, status FROM flow_workflow")) >= kWorkflowsMax) return;
  std::string works;
  const int count = stage_.dice.between(1, 3);
  for (int i = 1; i <= count; ++i) works += (works.empty() ? "" : ",") + work(i);
  ask("POST", "/agentflow/workflows",
      R"({"name":"flow )" + std::to_string(++named_) + R"(","agent":"waits","gitRefs":)" + refs() + R"(,"works":[)" +
          works + "]}");
}

void FlowClients::move(const std::string& how, std::string_view from) {
  if (const auto id = workflow_in(from)) ask("POST", "/agentflow/workflows/" + *id + "/" + how);
}

void FlowClients::remove() {
  if (const auto id = workflow_in("CREATED PAUSED FAILED COMPLETED CANCELLED"))
    ask("DELETE", "/agentflow/workflows/" + *id);
}

void FlowClients::modify() {
  const auto id = workflow_in("CREATED READY RUNNING PAUSED FAILED");
  if (!id) return;
  const bool works = stage_.dice.chance(400), gits = !works || stage_.dice.chance(200);
  std::string body = R"({"name":"changed")";
  if (gits) body += R"(,"gitRefs":)" + refs();
  if (works) {
    std::string list = stage_.dice.chance(800) ? work(9) : "";
    for (const Known& one : known("SELECT id, status FROM flow_work WHERE status = 'PENDING' AND workflow_id = " +
                                  std::string("'") + *id + "' ORDER BY position"))
      if (stage_.dice.chance(500)) list += (list.empty() ? "" : ",") + (R"({"id":)" + quoted(one.id) + "}");
    body += R"(,"works":[)" + list + "]";
  }
  ask("PATCH", "/agentflow/workflows/" + *id, body + "}");
}

void FlowClients::restore() {
  const auto all = known(
      "SELECT c.id, c.workflow_id FROM flow_checkpoint c JOIN flow_workflow w ON w.id = c.workflow_id WHERE w.status "
      "IN "
      "('PAUSED', 'FAILED', 'COMPLETED') ORDER BY c.id");
  if (all.empty()) return;
  const Known& one = stage_.dice.pick(all);
  ask("POST", "/agentflow/workflows/" + one.status + "/checkpoints/" + one.id + "/restore");
}

void FlowClients::integrate() {
  const auto id = workflow_in("PAUSED FAILED COMPLETED");
  if (!id) return;
  static constexpr const char* modes[] = {"merge", "rebase", "squash", "branch"};
  const std::string mode = stage_.dice.pick(modes);
  std::string body = R"({"mode":")" + mode + "\"";
  if (mode == "branch") body += R"(,"target":"left-)" + std::to_string(stage_.dice.between(1, 3)) + "\"";
  ask("POST", "/agentflow/workflows/" + *id + "/integrate", body + "}");
}

void FlowClients::answer() {
  const auto open = known("SELECT id, work_id FROM flow_question WHERE status = 'OPEN' ORDER BY id");
  if (open.empty()) return;
  const Known one = stage_.dice.pick(open);
  ask("POST", "/agentflow/works/" + one.status + "/questions/" + one.id, R"({"answer":"blue"})");
}

void FlowClients::query() {
  const auto works = known("SELECT id, status FROM flow_work WHERE status <> 'PENDING' ORDER BY id");
  if (!works.empty()) ask("POST", "/agentflow/works/" + stage_.dice.pick(works).id + "/queries", R"({"text":"why?"})");
}

void FlowClients::complete() {
  const auto works = known("SELECT id, status FROM flow_work WHERE status = 'RUNNING' ORDER BY id");
  if (works.empty()) return;
  ask("POST", "/agentflow/works/" + stage_.dice.pick(works).id + "/tasks/" + std::to_string(stage_.dice.between(1, 2)) +
                  "/complete");
}

void FlowClients::change_gits() {
  const auto gits = known("SELECT id, status FROM flow_git ORDER BY id");
  if (!gits.empty() && stage_.dice.chance(300)) return ask("DELETE", "/agentflow/gits/" + stage_.dice.pick(gits).id);
  if (gits.size() < 4)
    ask("POST", "/agentflow/gits",
        R"({"name":"clone )" + std::to_string(++named_) + R"(","remote":)" +
            quoted(stage_.folder.file(stage_.dice.chance(800) ? "repos/remote" : "repos/nowhere")) + "}");
}

void FlowClients::change_servers() {
  const auto servers = known("SELECT id, name FROM flow_mcp_server ORDER BY id");
  if (servers.size() > 1) return ask("DELETE", "/agentflow/mcp-servers/" + stage_.dice.pick(servers).id);
  ask("POST", "/agentflow/mcp-servers", R"({"name":"server )" + std::to_string(++named_) + R"(","command":"serve"})");
}

// Nobody builds upon what may be taken back.
bool FlowClients::is_being_integrated(const std::string& commit) {
  return !known("SELECT id, status FROM skald_saga WHERE live = 1 AND type = 'agentflow.integrate' AND state LIKE '%" +
                commit + "%'")
              .empty();
}

void FlowClients::work_beside() {
  RepositoryModel& in = git_.at(stage_.folder.file(stage_.dice.chance(500) ? "repos/a" : "repos/b"));
  const int choice = stage_.dice.between(0, 9);
  if (choice < 4) {
    in.in_use = !in.in_use && stage_.dice.chance(400);
  } else if (choice < 7) {
    const auto side = in.branches.find(kSideBranch);
    if (side == in.branches.end()) in.branches[kSideBranch] = in.branches.at(kMainBranch);
    else if (!is_being_integrated(side->second)) in.branches.erase(side);
  } else if (!is_being_integrated(in.branches.at(kMainBranch))) {
    git_.commit_by_person(in, kMainBranch, stage_.dice.chance(300) ? "shared" : "README");
  }
}

void FlowClients::leave_repositories() {
  for (auto& [path, repository] : git_.all()) repository->in_use = false;
}

void FlowClients::answer_questions() {
  for (const Known& one : known("SELECT id, work_id FROM flow_question WHERE status = 'OPEN' ORDER BY id"))
    site_.call(
        flow_request("POST", "/agentflow/works/" + one.status + "/questions/" + one.id, R"({"answer":"blue"})", ""));
}

void FlowClients::check_end() {
  const auto twice =
      known("SELECT name, name FROM flow_workflow WHERE name <> 'changed' GROUP BY name HAVING COUNT(*) > 1");
  if (!twice.empty()) throw BrokenInvariant{"F9", "one request has made two workflows: " + twice[0].id};
}

void FlowClients::must(std::string method, std::string path, int status) {
  const std::string what = method + " " + path;
  const auto answer = site_.call(flow_request(std::move(method), std::move(path), "", ""));
  if (!answer || answer->status != status)
    throw BrokenInvariant{"F9", what + " is refused when all is at rest: " + (answer ? answer->body : "no answer")};
}

void FlowClients::delete_everything(const std::function<void()>& settle) {
  for (const Known& one : known("SELECT id, status FROM flow_workflow ORDER BY id"))
    must("DELETE", "/agentflow/workflows/" + one.id, 202);
  settle();
  for (const Known& one : known("SELECT id, status FROM flow_git ORDER BY id"))
    must("DELETE", "/agentflow/gits/" + one.id, 200);
  for (const Known& one : known("SELECT id, name FROM flow_mcp_server ORDER BY id"))
    must("DELETE", "/agentflow/mcp-servers/" + one.id, 200);
  settle();
}

}  // namespace skald::sim
