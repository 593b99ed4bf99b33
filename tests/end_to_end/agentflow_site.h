// The agentflow service with real git and real processes, for tests: on a database of either kind.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "agentflow/agentflow.h"
#include "agentflow/views.h"
#include "http/router.h"
#include "http/sse.h"
#include "outside/standstill.h"
#include "support/test_database.h"

namespace skald::test {

// A repository with one commit at `folder`.
void make_repository(const Clock& clock, const std::string& folder);
// git's answer, without its last line's end.
std::string ask_git(const Clock& clock, const std::string& folder, std::vector<std::string> words);
// A script that waits until that file is there.
std::string waits_for(const std::string& file);

class AgentflowTest : public testing::TestWithParam<Dialect> {
 protected:
  AgentflowTest();
  ~AgentflowTest() override;

  Response call(const std::string& method, const std::string& path, const std::string& body = "");
  // Registers the repository under that name; its id.
  std::string add_git(const std::string& name = "repo");
  // A workflow of works with a shell script for each task; its id.
  std::string create(const std::string& git_id, const std::vector<std::vector<std::string>>& works,
                     const std::string& more = "");
  Response act(const std::string& workflow_id, const std::string& what) {
    return call("POST", "/agentflow/workflows/" + workflow_id + "/" + what);
  }
  agentflow::WorkflowView show(const std::string& workflow_id);
  std::vector<agentflow::WorkView> works(const std::string& workflow_id);
  agentflow::GitView git(const std::string& id);
  void becomes(const std::string& workflow_id, agentflow::WorkflowStatus status);
  void until(const std::function<bool()>& ready, const std::string& what);
  std::int64_t rows(const std::string& sql);
  // Of agents, whatever the service knows of them.
  std::size_t live_runs();
  // A saga of that name wants a lock that another holds.
  void until_waits(const std::string& saga);
  void expect_invariants();
  // No worktree, branch, ref, run or folder of any workflow.
  void expect_nothing_left();
  // As a server that was killed and started again: agents go on meanwhile.
  void restart();
  std::string gate(const std::string& name = "gate") const { return (folder_.path() / name).string(); }
  void open_gate(const std::string& name = "gate") const;

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  TemporaryFolder folder_;
  std::unique_ptr<TestDatabase> db_ = TestDatabase::of(GetParam(), env_);
  http::Publisher publisher_;
  std::unique_ptr<http::Routes> routes_;
  std::shared_ptr<void> service_;
  std::unique_ptr<Engine> engine_;
  Standstill standstill_;  // of git and agents
  int agents_max_ = 8;
  std::map<std::string, agentflow::Preset> presets_;  // from the next restart() on
  agentflow::Options options_;                        // of what bounds agents: as presets_

 private:
  void open();
  void close();
  void end_agents();
};

std::string flow_database(const testing::TestParamInfo<Dialect>& info);
std::string flow_problem(const Response& response);  // its code

}  // namespace skald::test
