#include "crash/agentflow_telling.h"

#include <algorithm>
#include <sstream>

#include "crash/scene.h"
#include "skald/checklist.h"

namespace skald::crash {
namespace {

constexpr Duration kPatience = 60s;

// What is counted and comes of itself, whatever the story.
bool is_housekeeping(const std::string& write) {
  for (const char* one : {"take job", "fit definitions", "retry what crashed", "join as worker", "beat"})
    if (write == one) return true;
  return write.starts_with("forget ") && write != "forget permit";
}

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += "\n  " + line;
  return out;
}

}  // namespace

FlowTelling::FlowTelling(Dialect dialect, std::int64_t lease_ms, std::int64_t beat_ms)
    : scene_(dialect, lease_ms, beat_ms), process_(scene_.start()) {
  for (const char* name : {"one", "two"}) {
    const auto answer = ask("POST", "/agentflow/gits",
                            R"({"name":")" + std::string(name) + R"(","path":")" + scene_.path(name) + R"("})");
    if (answer.status != 201) throw std::runtime_error("not registered: " + answer.body);
    gits_[name] = from_json<agentflow::GitView>(answer.body).id;
  }
}

void FlowTelling::begin() {
  ++number_;
  keys_ = 0;
  workflow_.clear();
  has_died_ = false;
}

void FlowTelling::doomed(const Doom& doom) {
  process_->send("POST", "/test/doom", to_json(doom), 200);
  may_die_ = doom.moment != Moment::never;
}

// A process that dies right now has died as it was told to.
void FlowTelling::saved() {
  if (!process_->ask("POST", "/test/doom", to_json(Doom{}))) revive();
  may_die_ = false;
}

void FlowTelling::hand_over(std::unique_ptr<ServedProcess> other) {
  process_->kill_hard();
  process_ = std::move(other);
}

std::vector<Commit> FlowTelling::commits() {
  auto found = process_->get_as<Commits>("/test/commits").items;
  std::erase_if(found, [](const Commit& commit) { return is_housekeeping(commit.write); });
  return found;
}

void FlowTelling::revive() {
  if (!until([&] { return process_->ended(); })) throw std::runtime_error("a process neither answers nor ends");
  if (!may_die_ || has_died_) throw std::runtime_error("a process that was not told to die has died");
  has_died_ = true;
  process_ = scene_.start();
}

test::HttpAnswer FlowTelling::ask(const std::string& method, const std::string& path, const std::string& body,
                                  const std::string& key) {
  std::vector<std::string> headers;
  if (!key.empty()) headers.push_back("Idempotency-Key: " + key);
  for (;;) {
    if (auto answer = process_->ask(method, path, body, headers)) return *answer;
    revive();
  }
}

std::string FlowTelling::get(const std::string& path) {
  const auto answer = ask("GET", path);
  if (answer.status != 200)
    throw std::runtime_error("GET " + path + " was answered " + answer.body + (has_died_ ? " after" : " before") +
                             " the death, then " + ask("GET", path).body + " by a server of " +
                             ask("GET", "/agentflow/gits").body + ", ours is " + scene_.data());
  return answer.body;
}

void FlowTelling::create(const std::vector<std::vector<std::string>>& works, const std::string& name) {
  const std::string log = scene_.path("log-" + std::to_string(number_));
  agentflow::NewWorkflow asked{
      .name = "story", .git_refs = std::vector<agentflow::GitRef>{{gits_["one"], {}}, {gits_["two"], {}}}, .ports = 2};
  asked.works.emplace();
  for (const auto& scripts : works) {
    agentflow::NewWork work{.name = "work", .tasks = {}, .mcp_server_refs = {}, .wants_report = {}};
    for (const std::string& script : scripts)
      work.tasks.push_back(
          {"echo begin $SKALD_WORK.$SKALD_TASK >> " + log + "; " + script + "; echo end >> " + log, {}});
    asked.works->push_back(work);
  }
  const auto answer = ask("POST", "/agentflow/workflows", to_json(asked), "create-" + std::to_string(number_) + name);
  if (answer.status != 201) throw std::runtime_error("not created: " + answer.body);
  workflow_ = from_json<agentflow::WorkflowView>(answer.body).id;
}

void FlowTelling::act(const std::string& what, const std::string& body) {
  const std::string key = "act-" + std::to_string(number_) + "-" + std::to_string(++keys_);
  const auto answer = ask("POST", "/agentflow/workflows/" + workflow_ + "/" + what, body, key);
  expect(answer.status == 202, what + " was answered " + std::to_string(answer.status) + " " + answer.body);
}

void FlowTelling::remove() {
  const auto answer = ask("DELETE", "/agentflow/workflows/" + workflow_, "", "remove-" + std::to_string(number_));
  expect(answer.status == 202, "its deletion was answered " + std::to_string(answer.status) + " " + answer.body);
  wait_for("its deletion", [&] { return ask("GET", "/agentflow/workflows/" + workflow_).status == 404; });
}

void FlowTelling::wait_for(const std::string& what, const std::function<bool()>& holds) {
  if (until([&] { return holds() || (rest(8ms), false); }, kPatience)) return;
  std::string state = ask("GET", "/agentflow/workflows/" + workflow_).body;
  state += "\n" + ask("GET", "/agentflow/workflows/" + workflow_ + "/works").body;
  for (const char* status : {"RUNNING", "WAITING", "COMPENSATING", "NEEDS_HELP"})
    state += "\n" + get("/api/sagas?limit=20&status=" + std::string(status));
  throw std::runtime_error("not in sight: " + what + "\n" + state + "\n" + get("/api/overview") + joined(log()) +
                           joined(scene_.processes()));
}

void FlowTelling::becomes(agentflow::WorkflowStatus status) {
  wait_for(std::string(enum_name(status)), [&] { return show().status == status; });
}

void FlowTelling::runs_to_its_end() {
  act("start");
  becomes(agentflow::WorkflowStatus::COMPLETED);
  settle();
}

bool FlowTelling::is_at_rest() {
  for (const char* status : {"RUNNING", "WAITING", "COMPENSATING"})
    if (!json::parse(get("/api/sagas?limit=1&status=" + std::string(status))).at("items").as_array().empty())
      return false;
  return json::parse(get("/api/overview")).at("pending").as_int64() == 0;
}

void FlowTelling::settle() {
  // Between two looks an event may become a saga, or a saga an event: only the same twice over is rest.
  wait_for("the end of everything", [&] { return is_at_rest() && is_at_rest(); });
  wait_for("the end of all agents", [&] { return scene_.processes().empty(); });
}

agentflow::WorkflowView FlowTelling::show() {
  return from_json<agentflow::WorkflowView>(get("/agentflow/workflows/" + workflow_));
}

std::vector<agentflow::WorkView> FlowTelling::works() {
  return from_json<Listing<agentflow::WorkView>>(get("/agentflow/workflows/" + workflow_ + "/works")).items;
}

std::vector<agentflow::CheckpointView> FlowTelling::checkpoints() {
  return from_json<Listing<agentflow::CheckpointView>>(get("/agentflow/workflows/" + workflow_ + "/checkpoints")).items;
}

std::vector<std::string> FlowTelling::log() const {
  std::istringstream text(text_of_file(scene_.path("log-" + std::to_string(number_))));
  std::vector<std::string> out;
  for (std::string line; std::getline(text, line);) out.push_back(line);
  return out;
}

std::string FlowTelling::tree(const std::string& repository) const {
  return scene_.data() + "/spaces/" + workflow_ + "/" + repository;
}

void FlowTelling::expect(bool holds, const std::string& otherwise) {
  if (!holds) faults_.push_back(otherwise);
}

void FlowTelling::expect_begun(const std::string& wanted) {
  const std::vector<std::string> lines = log();
  std::string counts;
  for (const agentflow::WorkView& work : works())
    for (const agentflow::Task& task : work.tasks) {
      const auto begun = std::ranges::count(lines, "begin " + work.id + "." + std::to_string(task.n));
      counts += (counts.empty() ? "" : " ") + std::to_string(begun);
    }
  expect(counts == wanted, "tasks have begun " + counts + " times instead of " + wanted + joined(lines));
}

void FlowTelling::expect_sound() {
  for (const skald::Check& check : from_json<skald::Invariants>(get("/agentflow/invariants")).checks)
    expect(check.ok, check.name + ": " + check.detail);
  for (const LockView& lock : from_json<Listing<OfService<LockView>>>(get("/api/locks")).items)
    faults_.push_back("a lock is left: " + to_json(lock));
  expect(json::parse(get("/api/overview")).at("deadLetters").as_int64() == 0, "an event is a dead letter");
  const std::string helpless = get("/api/sagas?status=NEEDS_HELP");
  expect(json::parse(helpless).at("items").as_array().empty(), "a saga needs help: " + helpless);
  const auto status = workflow_.empty() ? agentflow::WorkflowStatus::CREATED : show().status;
  const bool holds = status == agentflow::WorkflowStatus::PAUSED || status == agentflow::WorkflowStatus::FAILED;
  for (const auto& [name, id] : gits_) {
    const auto git = from_json<agentflow::GitView>(get("/agentflow/gits/" + id));
    expect(git.active_workflow_ids.empty() == !holds, "a registration is wrong: " + to_json(git));
  }
}

void FlowTelling::expect_nothing_left() {
  for (const char* name : {"one", "two"}) {
    const std::string where = scene_.path(name);
    const std::string refs = scene_.git(where, {"for-each-ref", "--format=%(refname)"});
    expect(refs == "refs/heads/main", "refs are left in " + where + ": " + refs);
    const std::string trees = scene_.git(where, {"worktree", "list", "--porcelain"});
    expect(trees.find("worktree ", 1) == trees.npos, "worktrees are left: " + trees);
    const std::set<std::string> files = scene_.git_files(name);
    const auto known = files_.try_emplace(name, files).first;
    for (const std::string& file : files) {
      expect(known->second.contains(file), "a file is left in " + where + "/.git: " + file);
      known->second.insert(file);
    }
  }
  for (const char* part : {"spaces", "runs"})
    for (const auto& entry : std::filesystem::directory_iterator(scene_.data() + "/" + part))
      faults_.push_back("a file is left: " + entry.path().string());
  for (const auto& [name, id] : gits_)
    expect(from_json<agentflow::GitView>(get("/agentflow/gits/" + id)).active_workflow_ids.empty(),
           "a registration is left at " + name);
  for (const std::string& process : scene_.processes()) faults_.push_back("a process is left: " + process);
}

}  // namespace skald::crash
