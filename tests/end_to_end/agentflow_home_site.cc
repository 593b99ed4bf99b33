#include "end_to_end/agentflow_home_site.h"

#include <poll.h>

#include <fstream>
#include <sstream>

#include "http/idempotency.h"
#include "http/jwt.h"
#include "support/built.h"

namespace skald::test {
namespace {

using agentflow::Diff;
using agentflow::Integration;
using agentflow::IntegrationTrial;
using agentflow::Repositories;
using agentflow::RepositoryFacts;
using agentflow::Tree;

class MeddledRepositories final : public Repositories {
 public:
  MeddledRepositories(std::unique_ptr<Repositories> real, Meddle meddle)
      : real_(std::move(real)), meddle_(std::move(meddle)) {}
  void clone(const std::string& remote, const std::string& path) override { real_->clone(remote, path); }
  RepositoryFacts inspect(const std::string& path) override { return real_->inspect(path); }
  std::string resolve(const std::string& repository, const std::string& name) override {
    return real_->resolve(repository, name);
  }
  void add_tree(const Tree& tree, const std::string& base) override { real_->add_tree(tree, base); }
  void remove_tree(const Tree& tree) override { real_->remove_tree(tree); }
  bool has_tree(const Tree& tree) override { return real_->has_tree(tree); }
  std::string take_checkpoint(const Tree& tree, const std::string& name) override {
    meddle_("checkpoint", tree, name);
    return real_->take_checkpoint(tree, name);
  }
  void restore_checkpoint(const Tree& tree, const std::string& commit) override {
    meddle_("restore", tree, commit);
    real_->restore_checkpoint(tree, commit);
  }
  agentflow::MergedCommit merge_commits(const std::string& repository, const std::string& base, const std::string& ours,
                                        const std::string& theirs) override {
    return real_->merge_commits(repository, base, ours, theirs);
  }
  void drop_checkpoints(const std::string& repository, const std::string& name) override {
    real_->drop_checkpoints(repository, name);
  }
  Diff diff(const Tree& tree, const std::string& from, const std::optional<std::string>& to,
            std::size_t text_max) override {
    return real_->diff(tree, from, to, text_max);
  }
  std::string commit_rest(const Tree& tree, const std::string& message) override {
    return real_->commit_rest(tree, message);
  }
  IntegrationTrial try_integration(const Tree& tree, const Integration& integration) override {
    return real_->try_integration(tree, integration);
  }
  void integrate(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) override {
    meddle_("integrate", tree, trial.after);
    real_->integrate(tree, integration, trial);
  }
  void undo_integration(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) override {
    real_->undo_integration(tree, integration, trial);
  }

 private:
  std::unique_ptr<Repositories> real_;
  Meddle meddle_;
};

}  // namespace

AgentflowHomeTest::AgentflowHomeTest() {
  db_ = TestDatabase::of(GetParam(), env_);
  engine_ = std::make_unique<Engine>(env_, **db_, EngineOptions{});
  http::migrate_api_keys(**db_);
  routes_ = std::make_unique<http::Routes>(
      env_, http::Authenticator(env_, "a secret of some length", http::Authenticator::Tokenless::admin), "test");
  agentflow::Options options{
      .folder = folder_ + "/flow",
      .repositories = {},
      .agents = agentflow::supervised_agents(*clock_, folder_ + "/flow/runs", {built::kSupervisor, "agent-run"}),
      .presets = {},
      .variables = {{"PATH", "/usr/bin:/bin"}}};
  options.repositories = std::make_shared<MeddledRepositories>(
      agentflow::git_repositories(env_, 60s),
      [this](const std::string& what, const Tree& tree, const std::string& commit) {
        Meddle how;
        {
          const std::lock_guard lock(mutex_);
          how = meddle_;
        }
        how(what, tree, commit);
      });
  options.pause = [](Duration time) { poll(nullptr, 0, static_cast<int>(time.count() / 1000)); };
  installed_ = agentflow::install(*engine_, *routes_, env_, std::move(options));
  engine_->start();
  one_ = make_repository("one");
  two_ = make_repository("two");
  git_one_ = register_git("one", one_);
  git_two_ = register_git("two", two_);
}

AgentflowHomeTest::~AgentflowHomeTest() { engine_->stop(5s); }

Response AgentflowHomeTest::call(const std::string& method, const std::string& path, const std::string& body,
                                 const std::string& key) {
  Request request;
  request.method = method;
  const std::size_t mark = path.find('?');
  request.path = path.substr(0, mark);
  if (mark != path.npos) {
    std::istringstream fields(path.substr(mark + 1));
    for (std::string field; std::getline(fields, field, '&');)
      request.query[field.substr(0, field.find('='))] = field.substr(field.find('=') + 1);
  }
  request.body = body;
  if (!key.empty()) request.headers["idempotency-key"] = key;
  return routes_->dispatch(std::move(request));
}

boost::json::object AgentflowHomeTest::shown(const std::string& path) {
  const Response response = call("GET", path);
  EXPECT_EQ(response.status, 200) << response.body;
  return json::parse(response.body).as_object();
}

void AgentflowHomeTest::wait_for(const std::string& what, const std::function<bool()>& holds) {
  const Instant end = clock_->steady() + 30s;
  while (!holds()) {
    if (clock_->steady() >= end) throw std::runtime_error("not in time: " + what);
    poll(nullptr, 0, 10);
  }
}

boost::json::object AgentflowHomeTest::workflow_when(const std::function<bool(const boost::json::object&)>& wanted) {
  boost::json::object seen;
  try {
    wait_for("the workflow", [&] { return wanted(seen = shown(path())); });
  } catch (const std::runtime_error& late) {
    throw std::runtime_error(late.what() + boost::json::serialize(seen));
  }
  return seen;
}

std::string AgentflowHomeTest::git(const std::string& where, std::vector<std::string> words) {
  words.insert(words.begin(), {"git", "-c", "user.name=A Person", "-c", "user.email=person@example.invalid", "-c",
                               "init.defaultBranch=main", "-c", "safe.directory=*"});
  const CommandResult result = run_command(
      *clock_,
      {.argv = std::move(words),
       .folder = where,
       .variables = {
           {"PATH", "/usr/bin:/bin"}, {"HOME", "/nonexistent"}, {"GIT_CONFIG_GLOBAL", "/dev/null"}, {"LC_ALL", "C"}}});
  EXPECT_TRUE(result.ok()) << result.err;
  std::string out = result.out;
  if (out.ends_with('\n')) out.pop_back();
  return out;
}

std::string AgentflowHomeTest::commit_all(const std::string& where, const std::string& message) {
  git(where, {"add", "-A"});
  git(where, {"commit", "-q", "-m", message});
  return git(where, {"rev-parse", "HEAD"});
}

void AgentflowHomeTest::write(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

std::string AgentflowHomeTest::read(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

std::string AgentflowHomeTest::make_repository(const std::string& name) {
  const std::string path = folder_ + "/" + name;
  std::filesystem::create_directories(path);
  git(path, {"init", "-q"});
  write(path + "/a.txt", "first\n");
  commit_all(path, "First");
  return path;
}

std::string AgentflowHomeTest::register_git(const std::string& name, const std::string& path) {
  const Response made =
      call("POST", "/agentflow/gits", boost::json::serialize(boost::json::object{{"name", name}, {"path", path}}));
  EXPECT_EQ(made.status, 201) << made.body;
  return std::string(json::parse(made.body).at("id").as_string());
}

void AgentflowHomeTest::run_workflow(const std::vector<std::string>& scripts, const std::string& status) {
  boost::json::array works;
  for (const std::string& script : scripts)
    works.push_back(boost::json::object{
        {"name", "work"},
        {"tasks", boost::json::array{boost::json::object{{"prompt", "cd \"$SKALD_SPACE\"; " + script}}}}});
  const boost::json::object plan{{"name", "flow"},
                                 {"gitRefs", boost::json::array{boost::json::object{{"gitId", git_one_}},
                                                                boost::json::object{{"gitId", git_two_}}}},
                                 {"works", works}};
  const Response made = call("POST", "/agentflow/workflows", boost::json::serialize(plan));
  ASSERT_EQ(made.status, 201) << made.body;
  workflow_ = json::parse(made.body).at("id").as_string();
  ASSERT_EQ(call("POST", path() + "/start").status, 202);
  const auto seen = workflow_when([&](const boost::json::object& now) {
    return now.at("status").as_string() == status || now.at("status").as_string() == "FAILED";
  });
  ASSERT_EQ(seen.at("status").as_string(), status) << boost::json::serialize(seen);
}

boost::json::array AgentflowHomeTest::checkpoints() { return shown(path() + "/checkpoints").at("items").as_array(); }

std::string AgentflowHomeTest::take_checkpoint() {
  const std::size_t before = checkpoints().size();
  const Response asked = call("POST", path() + "/checkpoints");
  EXPECT_EQ(asked.status, 202) << asked.body;
  wait_for("a checkpoint", [&] { return checkpoints().size() > before; });
  return std::string(checkpoints().back().at("id").as_string());
}

std::string AgentflowHomeTest::last_saga(const std::string& type) {
  return (*db_)->read_result([&](Transaction& tx) {
    SagaFilter filter;
    filter.type = type;
    std::string status;
    Time latest{};
    for (const SagaView& one : engine_->sagas().list(tx, filter))
      if (one.started_at >= latest) {
        latest = one.started_at;
        status = enum_name(one.status);
      }
    return status;
  });
}

void AgentflowHomeTest::meddle(Meddle how) {
  const std::lock_guard lock(mutex_);
  meddle_ = std::move(how);
}

std::string code_of(const Response& response) {
  return std::string(json::parse(response.body).as_object().at("code").as_string());
}

}  // namespace skald::test
