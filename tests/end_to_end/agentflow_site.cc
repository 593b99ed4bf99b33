#include "end_to_end/agentflow_site.h"

#include <filesystem>
#include <fstream>

#include "end_to_end/order_site.h"
#include "http/idempotency.h"
#include "outside/witnessed.h"
#include "support/built.h"

namespace skald::test {
namespace {

const Variables kQuietGit = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"GIT_CONFIG_GLOBAL", "/dev/null"}};

template <class T>
std::vector<T> items_of(const Response& response) {
  return from_json<Listing<T>>(response.body).items;
}

}  // namespace

std::string ask_git(const Clock& clock, const std::string& folder, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-c", "user.name=test", "-c", "user.email=test@example.invalid"});
  CommandResult result = run_command(clock, {.argv = words, .folder = folder, .variables = kQuietGit});
  EXPECT_TRUE(result.ok()) << result.err;
  if (result.out.ends_with('\n')) result.out.pop_back();
  return result.out;
}

void make_repository(const Clock& clock, const std::string& folder) {
  std::filesystem::create_directories(folder);
  ask_git(clock, folder, {"init", "-q", "-b", "main"});
  std::ofstream(folder + "/first.txt") << "first\n";
  ask_git(clock, folder, {"add", "."});
  ask_git(clock, folder, {"commit", "-q", "-m", "first"});
}

std::string waits_for(const std::string& file) { return "while [ ! -e " + file + " ]; do sleep 0.02; done"; }

AgentflowTest::AgentflowTest() {
  make_repository(*clock_, (folder_.path() / "repo").string());
  open();
}

AgentflowTest::~AgentflowTest() {
  open_gate();
  standstill_.go_on();
  close();
  end_agents();
}

// A script that waits for its gate would wait for ever once the folder is gone.
void AgentflowTest::end_agents() {
  Runs runs(*clock_, (folder_.path() / "flow/runs").string(), {built::kSupervisor, "agent-run"});
  for (const std::string& run : runs.list()) runs.stop(run, "the test is over");
  for (const std::string& run : runs.list())
    until([&] { return runs.look(run)->end.has_value(); }, "an agent does not end: " + run);
}

void AgentflowTest::open() {
  const Witness witness = [this](std::string_view call) { return standstill_.meet(call); };
  routes_ = std::make_unique<http::Routes>(env_, http::Authenticator(env_, std::nullopt), "test");
  EngineOptions options;
  options.outbox.backoff_first = 50ms;
  engine_ = std::make_unique<Engine>(env_, **db_, options);
  http::migrate_api_keys(**db_);
  Variables variables = options_.variables;
  variables["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  service_ = agentflow::install(
      *engine_, *routes_, env_,
      {.folder = (folder_.path() / "flow").string(),
       .repositories = witnessed(agentflow::git_repositories(env_, 60s), witness),
       .agents = witnessed(agentflow::supervised_agents(*clock_, (folder_.path() / "flow/runs").string(),
                                                        {built::kSupervisor, "agent-run"}),
                           witness),
       .presets = presets_,
       .variables = variables,
       .secret_variables = options_.secret_variables,
       .agents_max = agents_max_,
       .cost_max = options_.cost_max,
       .workflow_time_max = options_.workflow_time_max,
       .agents_per_machine = options_.agents_per_machine,
       .agents_per_repository = options_.agents_per_repository,
       .ports = options_.ports,
       .is_port_free = options_.is_port_free,
       .bwrap = options_.bwrap,
       .hidden = options_.hidden,
       .greet_mcp_servers = false,
       .program = built::kProgram,
       .pause = rest,
       .publish = [this](std::string_view topic) { publisher_.publish(topic); }});
  engine_->start();
}

void AgentflowTest::close() {
  engine_->stop(1s);
  routes_.reset();
  engine_.reset();
  service_.reset();
}

void AgentflowTest::restart() {
  close();
  db_->reopen();
  open();
}

void AgentflowTest::open_gate(const std::string& name) const { std::ofstream(gate(name)) << "open\n"; }

Response AgentflowTest::call(const std::string& method, const std::string& path, const std::string& body) {
  Request request;
  request.method = method;
  request.path = path.substr(0, path.find('?'));
  request.body = body;
  if (const auto mark = path.find('?'); mark != path.npos) {
    const std::string query = path.substr(mark + 1);
    const auto equals = query.find('=');
    request.query[query.substr(0, equals)] = query.substr(equals + 1);
  }
  return routes_->dispatch(std::move(request));
}

std::string AgentflowTest::add_git(const std::string& name) {
  const Response answer = call("POST", "/agentflow/gits",
                               R"({"name":")" + name + R"(","path":")" + (folder_.path() / "repo").string() + R"("})");
  EXPECT_EQ(answer.status, 201) << answer.body;
  return from_json<agentflow::GitView>(answer.body).id;
}

std::string AgentflowTest::create(const std::string& git_id, const std::vector<std::vector<std::string>>& works,
                                  const std::string& more) {
  agentflow::NewWorkflow asked{.name = "flow", .git_refs = std::vector<agentflow::GitRef>{{git_id, {}}}};
  asked.works.emplace();
  for (const auto& scripts : works) {
    agentflow::NewWork work{.name = "work " + std::to_string(asked.works->size() + 1),
                            .tasks = {},
                            .mcp_server_refs = {},
                            .wants_report = {}};
    for (const std::string& script : scripts) work.tasks.push_back({script, {}});
    asked.works->push_back(work);
  }
  std::string body = to_json(asked);
  body.insert(1, more);
  const Response answer = call("POST", "/agentflow/workflows", body);
  EXPECT_EQ(answer.status, 201) << answer.body;
  return from_json<agentflow::WorkflowView>(answer.body).id;
}

agentflow::WorkflowView AgentflowTest::show(const std::string& workflow_id) {
  return from_json<agentflow::WorkflowView>(call("GET", "/agentflow/workflows/" + workflow_id).body);
}

std::vector<agentflow::WorkView> AgentflowTest::works(const std::string& workflow_id) {
  return items_of<agentflow::WorkView>(call("GET", "/agentflow/workflows/" + workflow_id + "/works"));
}

agentflow::GitView AgentflowTest::git(const std::string& id) {
  return from_json<agentflow::GitView>(call("GET", "/agentflow/gits/" + id).body);
}

void AgentflowTest::until(const std::function<bool()>& ready, const std::string& what) {
  const Instant end = clock_->steady() + 60s;
  while (!ready()) {
    ASSERT_LT(clock_->steady(), end) << what;
    rest(5ms);
  }
}

void AgentflowTest::becomes(const std::string& workflow_id, agentflow::WorkflowStatus status) {
  until([&] { return show(workflow_id).status == status; },
        "the workflow does not become " + std::string(enum_name(status)));
  if (HasFatalFailure()) ADD_FAILURE() << to_json(show(workflow_id)) << to_json(works(workflow_id));
}

std::int64_t AgentflowTest::rows(const std::string& sql) {
  return (*db_)->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
}

std::size_t AgentflowTest::live_runs() {
  Runs runs(*clock_, (folder_.path() / "flow/runs").string(), {built::kSupervisor, "agent-run"});
  const auto all = runs.list();
  return static_cast<std::size_t>(std::ranges::count_if(all, [&](const std::string& run) {
    const auto seen = runs.look(run);
    return seen && !seen->end;
  }));
}

void AgentflowTest::until_waits(const std::string& saga) {
  const std::string waiting = "SELECT COUNT(*) FROM skald_saga WHERE status = 'WAITING' AND type = 'agentflow." + saga;
  until([&] { return rows(waiting + "'") > 0; }, saga + " does not wait");
}

void AgentflowTest::expect_invariants() {
  const Response answer = call("GET", "/agentflow/invariants");
  EXPECT_TRUE(json::parse(answer.body).at("ok").as_bool()) << answer.body;
}

void AgentflowTest::expect_nothing_left() {
  const std::string repository = (folder_.path() / "repo").string();
  EXPECT_EQ(ask_git(*clock_, repository, {"for-each-ref", "--format=%(refname)"}), "refs/heads/main");
  EXPECT_EQ(ask_git(*clock_, repository, {"worktree", "list", "--porcelain"}).find("worktree", 1), std::string::npos);
  for (const char* part : {"spaces", "runs"}) {
    const auto place = folder_.path() / "flow" / part;
    EXPECT_TRUE(!std::filesystem::exists(place) || std::filesystem::is_empty(place)) << place;
  }
  for (const char* table : {"flow_question", "flow_query", "flow_mailbox", "flow_work", "flow_work_tree", "flow_space",
                            "flow_report", "flow_checkpoint", "flow_story", "flow_history", "flow_usage", "flow_port"})
    EXPECT_EQ(rows("SELECT COUNT(*) FROM " + std::string(table)), 0) << table;
}

std::string flow_database(const testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::sqlite ? "SQLite" : "PostgreSQL";
}

std::string flow_problem(const Response& response) {
  return std::string(json::parse(response.body).as_object().at("code").as_string());
}

}  // namespace skald::test
