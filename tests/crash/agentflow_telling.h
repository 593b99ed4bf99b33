// A client that tells the story of one workflow to processes that die meanwhile: it starts the next one, and asks again
// under the same key what was not answered.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agentflow/views.h"
#include "crash/agentflow_scene.h"

namespace skald::crash {

class FlowTelling {
 public:
  explicit FlowTelling(Dialect dialect, std::int64_t lease_ms = 1000, std::int64_t beat_ms = 150);

  // Another workflow, other keys. `doomed()`: from here on the process may die; `saved()`: nobody dies any more.
  void begin();
  void doomed(const Doom& doom);
  void saved();
  bool has_died() const { return has_died_; }
  // kill -9, and `other` is asked from here on.
  void hand_over(std::unique_ptr<ServedProcess> other);
  // To another workflow of this telling.
  void turn_to(const std::string& workflow) { workflow_ = workflow; }
  std::vector<Commit> commits();

  // A work for each list of scripts. Each script runs in the first worktree and is logged as it begins and ends.
  void create(const std::vector<std::vector<std::string>>& works, const std::string& name = "");
  void act(const std::string& what, const std::string& body = "");
  void remove();  // and it is gone
  void becomes(agentflow::WorkflowStatus status);
  void runs_to_its_end();  // act("start") and COMPLETED
  // Every saga has ended, every event is handled, no agent is left.
  void settle();
  void wait_for(const std::string& what, const std::function<bool()>& holds);

  agentflow::WorkflowView show();
  std::vector<agentflow::WorkView> works();
  std::vector<agentflow::CheckpointView> checkpoints();
  std::string get(const std::string& path);
  std::vector<std::string> log() const;  // its lines
  std::string gate() const { return scene_.path("gate-" + std::to_string(number_)); }
  std::string tree(const std::string& repository) const;
  std::string main_of(const std::string& repository) const {
    return scene_.git(scene_.path(repository), {"rev-parse", "main"});
  }
  FlowScene& scene() { return scene_; }
  int number() const { return number_; }
  const std::string& workflow() const { return workflow_; }

  // A fault is a sentence; the telling goes on.
  void expect(bool holds, const std::string& otherwise);
  // How often each task has begun, in the order of works and tasks: "1 1 2 1".
  void expect_begun(const std::string& wanted);
  void expect_sound();  // invariants, locks, letters, helpless sagas
  void expect_nothing_left();  // after remove()
  const std::vector<std::string>& faults() const { return faults_; }

 private:
  test::HttpAnswer ask(const std::string& method, const std::string& path, const std::string& body = "",
                       const std::string& key = "");
  void revive();
  bool is_at_rest();

  FlowScene scene_;
  std::unique_ptr<ServedProcess> process_;
  std::map<std::string, std::string> gits_;  // their ids by name
  std::map<std::string, std::set<std::string>> files_;  // of the git folders, where no workflow is
  std::vector<std::string> faults_;
  std::string workflow_;
  int number_ = 0, keys_ = 0;
  bool may_die_ = false, has_died_ = false;
};

}  // namespace skald::crash
