#include "agentflow_site.h"

#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "http/idempotency.h"
#include "outside/witnessed.h"
#include "support/built.h"

namespace bench {
namespace {

const skald::Variables kPath = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"GIT_CONFIG_GLOBAL", "/dev/null"}};

}  // namespace

AgentflowSite::AgentflowSite(int agents_max)
    : db_(skald::open_sqlite(env_, {.path = folder_.path() + "/flow.db"})),
      routes_(env_, skald::http::Authenticator(env_, std::nullopt), "bench") {
  engine_ = std::make_unique<skald::Engine>(env_, *db_, skald::EngineOptions{});
  skald::http::migrate_api_keys(*db_);
  const skald::test::Witness watch = [this](std::string_view call) { return witness(call); };
  const std::string data = folder_.path() + "/data";
  service_ = agentflow::install(
      *engine_, routes_, env_,
      {.folder = data,
       .repositories = skald::test::witnessed(agentflow::git_repositories(env_, std::chrono::seconds(120)), watch),
       .agents = skald::test::witnessed(
           agentflow::supervised_agents(*clock_, data + "/runs", {skald::built::kSupervisor, "agent-run"}), watch),
       .variables = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}},
       .agents_max = agents_max,
       .pause = [](skald::Duration time) { sleep_for_seconds(std::chrono::duration<double>(time).count()); }});
  engine_->start();
}

AgentflowSite::~AgentflowSite() {
  skald::Runs runs(*clock_, folder_.path() + "/data/runs", {skald::built::kSupervisor, "agent-run"});
  for (const std::string& run : runs.list()) runs.stop(run, "the benchmark is over");
  engine_->stop(std::chrono::seconds(2));
}

std::shared_ptr<void> AgentflowSite::witness(std::string_view call) {
  return {nullptr, [this, name = std::string(call), from = now_ns()](void*) {
            const std::scoped_lock lock(mutex_);
            calls_.push_back({name, from, now_ns()});
          }};
}

std::vector<AgentflowSite::Call> AgentflowSite::calls() {
  const std::scoped_lock lock(mutex_);
  return calls_;
}

void AgentflowSite::git(const std::vector<std::string>& words) const {
  std::vector<std::string> argv = {"git", "-c", "user.name=bench", "-c", "user.email=bench@example.invalid"};
  argv.insert(argv.end(), words.begin(), words.end());
  const auto result = skald::run_command(*clock_, {.argv = argv, .folder = repository_, .variables = kPath});
  if (!result.ok()) throw std::runtime_error("git: " + result.err);
}

std::string AgentflowSite::add_git(int files) {
  std::filesystem::create_directories(repository_);
  git({"init", "-q", "-b", "main"});
  for (int i = 0; i < files; ++i)
    std::ofstream(repository_ + "/file-" + std::to_string(i) + ".txt") << std::string(2000, 'a' + i % 26) << "\n";
  git({"add", "."});
  git({"commit", "-q", "-m", "first"});
  return skald::from_json<agentflow::GitView>(
             answer("POST", "/agentflow/gits", R"({"name":"git","path":)" + skald::to_json(repository_) + "}", 201))
      .id;
}

std::string AgentflowSite::create(const std::string& git_id, int works, const std::string& script) {
  agentflow::NewWorkflow asked{.name = "flow", .git_refs = std::vector<agentflow::GitRef>{{git_id, {}}}};
  asked.works.emplace();
  for (int i = 0; i < works; ++i)
    asked.works->push_back({.name = "work", .tasks = {{script, {}}}, .mcp_server_refs = {}, .wants_report = {}});
  return skald::from_json<agentflow::WorkflowView>(answer("POST", "/agentflow/workflows", skald::to_json(asked), 201))
      .id;
}

void AgentflowSite::start(const std::string& id) { answer("POST", "/agentflow/workflows/" + id + "/start", "", 202); }

agentflow::WorkflowView AgentflowSite::show(const std::string& id) {
  return skald::from_json<agentflow::WorkflowView>(answer("GET", "/agentflow/workflows/" + id, "", 200));
}

std::vector<agentflow::WorkView> AgentflowSite::works(const std::string& id) {
  return skald::from_json<skald::Listing<agentflow::WorkView>>(
             answer("GET", "/agentflow/workflows/" + id + "/works", "", 200))
      .items;
}

std::string AgentflowSite::output(const std::string& work_id, std::size_t offset) {
  return answer("GET", "/agentflow/works/" + work_id + "/tasks/1/output", "", 200, std::to_string(offset));
}

std::int64_t AgentflowSite::count(const std::string& sql) {
  return db_->read_result([&](skald::Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
}

void AgentflowSite::until(const std::string& what, double seconds, const std::function<bool()>& holds) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  for (; !holds(); sleep_for_seconds(0.002))
    if (now_ns() > end) throw std::runtime_error("not in sight: " + what);
}

std::string AgentflowSite::answer(const std::string& method, const std::string& path, const std::string& body,
                                  int expected, const std::string& offset) {
  skald::Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  if (!offset.empty()) request.query["offset"] = offset;
  const skald::Response response = routes_.dispatch(std::move(request));
  if (response.status != expected) throw std::runtime_error(method + " " + path + ": " + response.body);
  return response.body;
}

}  // namespace bench
