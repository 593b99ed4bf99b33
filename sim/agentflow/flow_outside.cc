#include "sim/agentflow/flow_outside.h"

#include <filesystem>

namespace skald::sim {
namespace {

using agentflow::Integration;
using agentflow::IntegrationTrial;
using agentflow::Tree;

const FlowTroubles kGitReads{.fails = {"GIT_TIMEOUT", "GIT_KILLED"}};
const FlowTroubles kGitRefuses{.fails = {"GIT_TIMEOUT", "GIT_KILLED"}, .refused = "GIT_FAILED"};
const FlowTroubles kGitChanges{.fails = {"GIT_BUSY", "GIT_TIMEOUT", "GIT_KILLED"},
                               .cut_off = "GIT_KILLED",
                               .refused = "GIT_FAILED",
                               .lost = "GIT_TIMEOUT"};
// Its last part is a rename: where that has happened, it is said.
const FlowTroubles kGitClones{.fails = {"GIT_TIMEOUT", "GIT_KILLED"}, .refused = "GIT_FAILED"};

class SimulatedRepositories final : public agentflow::Repositories {
 public:
  SimulatedRepositories(GitModel& git, FlowFaults& faults) : git_(git), faults_(faults) {}

  void clone(const std::string& remote, const std::string& path) override {
    faults_.suffer("clone", kGitClones, [&](const Cut& cut) { git_.clone(remote, path, cut); });
  }
  agentflow::RepositoryFacts inspect(const std::string& path) override {
    return faults_.suffer("inspect", kGitReads, [&](const Cut&) {
      git_.at(path);
      return agentflow::RepositoryFacts{.path = path, .default_branch = kMainBranch};
    });
  }
  std::string resolve(const std::string& repository, const std::string& name) override {
    return faults_.suffer("resolve", kGitReads, [&](const Cut&) { return git_.resolve(repository, name); });
  }
  void add_tree(const Tree& tree, const std::string& base) override {
    faults_.suffer("add_tree", kGitChanges, [&](const Cut& cut) { git_.add_tree(tree, base, cut); });
  }
  void remove_tree(const Tree& tree) override {
    faults_.suffer("remove_tree", kGitChanges, [&](const Cut& cut) { git_.remove_tree(tree, cut); });
  }
  bool has_tree(const Tree& tree) override {
    return faults_.suffer("has_tree", {}, [&](const Cut&) { return git_.has_tree(tree); });
  }
  std::string take_checkpoint(const Tree& tree, const std::string& name) override {
    return faults_.suffer("take_checkpoint", kGitChanges,
                          [&](const Cut& cut) { return git_.take_checkpoint(tree, name, cut); });
  }
  void restore_checkpoint(const Tree& tree, const std::string& commit) override {
    faults_.suffer("restore_checkpoint", kGitChanges,
                   [&](const Cut& cut) { git_.restore_checkpoint(tree, commit, cut); });
  }
  agentflow::MergedCommit merge_commits(const std::string& repository, const std::string& base, const std::string& ours,
                                        const std::string& theirs) override {
    return faults_.suffer("merge_commits", kGitRefuses,
                          [&](const Cut&) { return git_.merge_commits(repository, base, ours, theirs); });
  }
  void drop_checkpoints(const std::string& repository, const std::string& name) override {
    faults_.suffer("drop_checkpoints", kGitChanges, [&](const Cut&) { git_.drop_checkpoints(repository, name); });
  }
  agentflow::Diff diff(const Tree&, const std::string&, const std::optional<std::string>&, std::size_t) override {
    return {};
  }
  std::string commit_rest(const Tree& tree, const std::string& message) override {
    return faults_.suffer("commit_rest", kGitChanges, [&](const Cut&) { return git_.commit_rest(tree, message); });
  }
  IntegrationTrial try_integration(const Tree& tree, const Integration& how) override {
    return faults_.suffer("try_integration", kGitRefuses, [&](const Cut&) { return git_.try_integration(tree, how); });
  }
  void integrate(const Tree& tree, const Integration& how, const IntegrationTrial& trial) override {
    faults_.suffer("integrate", kGitChanges, [&](const Cut& cut) {
      git_.integrate(tree, how.target, trial);
      cut();
    });
  }
  void undo_integration(const Tree& tree, const Integration& how, const IntegrationTrial& trial) override {
    faults_.suffer("undo_integration", kGitChanges,
                   [&](const Cut&) { git_.undo_integration(tree, how.target, trial); });
  }

 private:
  GitModel& git_;
  FlowFaults& faults_;
};

class SimulatedSpaces final : public agentflow::Spaces {
 public:
  explicit SimulatedSpaces(FlowFaults& faults) : faults_(faults) {}

  void make(const std::string& folder) override {
    const bool is_there = std::filesystem::exists(folder);
    faults_.suffer("make folder", {.refused = is_there ? nullptr : "NO_SPACE_FOLDER"},
                   [&](const Cut&) { real_->make(folder); });
  }
  void remove(const std::string& folder) override {
    faults_.suffer("remove folder", {.fails = {"NO_SPACE_FOLDER"}}, [&](const Cut&) { real_->remove(folder); });
  }
  void write_file(const std::string& path, const std::string& text) override {
    faults_.suffer("write file", {.fails = {"NO_SPACE_FOLDER"}}, [&](const Cut&) { real_->write_file(path, text); });
  }

 private:
  FlowFaults& faults_;
  const std::shared_ptr<agentflow::Spaces> real_ = agentflow::folder_spaces();
};

const FlowTroubles kRunChanges{.fails = {"RUNS_FOLDER"}, .lost = "RUNS_FOLDER"};

}  // namespace

std::shared_ptr<agentflow::Repositories> simulated_repositories(GitModel& git, FlowFaults& faults) {
  return std::make_shared<SimulatedRepositories>(git, faults);
}

std::shared_ptr<agentflow::Spaces> simulated_spaces(FlowFaults& faults) {
  return std::make_shared<SimulatedSpaces>(faults);
}

void SimulatedAgents::start(const RunSpec& spec) {
  faults_.suffer("start agent",
                 {.fails = {"RUN_NOT_STARTED", "NO_PROCESS"}, .cut_off = "RUN_NOT_STARTED", .lost = "RUN_NOT_STARTED"},
                 [&](const Cut& cut) { agents_.start(spec, cut); });
}

void SimulatedAgents::stop(const std::string& run, const std::string& why) {
  faults_.suffer("stop agent", kRunChanges, [&](const Cut&) { agents_.stop(run, why); });
}

void SimulatedAgents::prevent(const std::string& run, const std::string& why) {
  faults_.suffer("prevent agent", kRunChanges, [&](const Cut& cut) { agents_.prevent(run, why, cut); });
}

std::optional<RunView> SimulatedAgents::look(const std::string& run) { return agents_.look(run); }

std::string SimulatedAgents::output(const std::string& run, std::int64_t offset, std::size_t bytes_max) const {
  return agents_.output(run, offset, bytes_max);
}

std::vector<std::string> SimulatedAgents::changed() {
  const std::vector<std::string>& all = agents_.changes();
  std::vector<std::string> out(all.begin() + static_cast<std::ptrdiff_t>(told_), all.end());
  told_ = all.size();
  return out;
}

void SimulatedAgents::forget(const std::string& run) {
  faults_.suffer("forget agent", {.fails = {"RUNS_FOLDER"}}, [&](const Cut&) { agents_.forget(run); });
}

}  // namespace skald::sim
