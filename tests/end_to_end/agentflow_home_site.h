// The agentflow service by itself, for tests of checkpoints and ways home: its engine on a database of either kind, two
// real repositories, and a shell as the agent. Git can be told to fail at one repository.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "agentflow/agentflow.h"
#include "http/router.h"
#include "skald/engine.h"
#include "support/test_database.h"

namespace skald::test {

// What a test does before a call of git that changes something; what it throws, git throws.
using Meddle = std::function<void(const std::string& what, const agentflow::Tree& tree, const std::string& commit)>;

class AgentflowHomeTest : public testing::TestWithParam<Dialect> {
 protected:
  AgentflowHomeTest();
  ~AgentflowHomeTest() override;

  Response call(const std::string& method, const std::string& path, const std::string& body = "",
                const std::string& key = "");
  boost::json::object shown(const std::string& path);
  // The workflow's JSON, once `wanted` holds of it; a test fails where that takes too long.
  boost::json::object workflow_when(const std::function<bool(const boost::json::object&)>& wanted);
  void wait_for(const std::string& what, const std::function<bool()>& holds);

  std::string git(const std::string& where, std::vector<std::string> words);
  std::string commit_all(const std::string& where, const std::string& message);
  static void write(const std::string& path, const std::string& text);
  static std::string read(const std::string& path);
  static bool exists(const std::string& path) { return std::filesystem::exists(path); }

  // A workflow over both repositories with a work for each script; runs it to `status`.
  void run_workflow(const std::vector<std::string>& scripts, const std::string& status = "COMPLETED");
  std::string path() const { return "/agentflow/workflows/" + workflow_; }
  std::string tree(const std::string& name) const { return folder_ + "/flow/spaces/" + workflow_ + "/" + name; }
  boost::json::array checkpoints();
  std::string take_checkpoint();
  std::string last_saga(const std::string& type);  // its status
  void meddle(Meddle how);

  TemporaryFolder temporary_;
  std::string folder_ = std::filesystem::canonical(temporary_.path()).string();
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<TestDatabase> db_;
  std::string one_, two_;  // the folders of the repositories
  std::string git_one_, git_two_;  // their ids
  std::string workflow_;

 private:
  std::string make_repository(const std::string& name);
  std::string register_git(const std::string& name, const std::string& path);

  std::mutex mutex_;
  Meddle meddle_ = [](const std::string&, const agentflow::Tree&, const std::string&) {};
  std::shared_ptr<void> installed_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<http::Routes> routes_;
};

std::string code_of(const Response& response);

}  // namespace skald::test
