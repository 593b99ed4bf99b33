// Git repositories as a small model of content: branches, worktrees, hidden refs, commits. They outlive every process.
//
// What the real implementation (services/agentflow/git) does in several commands is done here in as many parts, with a Cut
// between them; what a call finds of one before it that was cut off is treated as there. Folders are real ones, in the
// run's scratch folder: whoever removes them removes what lies in them.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "agentflow/repositories.h"
#include "sim/agentflow/flow_faults.h"

namespace skald::sim {

using Files = std::map<std::string, std::string>;  // text by name

struct CommitModel {
  Files files;
  std::vector<std::string> parents;
  int number = 0;  // see GitModel::made()
};

struct TreeModel {
  std::string made_for;  // the branch that add_tree() made it for; empty: that was cut off
  std::string branch;  // that HEAD names
  Files files;
  int number = 0;  // see GitModel::made()
};

struct RepositoryModel {
  std::string origin = {};  // of a clone
  std::map<std::string, std::string> branches = {};  // commits by name
  std::set<std::string> marks = {};  // branches that are ours
  std::map<std::string, TreeModel> trees = {};  // by path
  std::map<std::string, std::string> refs = {};  // below refs/skald/
  bool in_use = false;  // somebody has changes in the checkout of its main branch
};

inline constexpr const char* kMainBranch = "main";

class GitModel {
 public:
  explicit GitModel(Stage& stage) : stage_(stage) {}

  // A repository of somebody's, with a commit.
  void make_repository(const std::string& path);
  // Somebody commits to a branch.
  void commit_by_person(RepositoryModel& repository, const std::string& branch, const std::string& file);

  void clone(const std::string& remote, const std::string& path, const Cut& cut);
  std::string resolve(const std::string& repository, const std::string& name);
  void add_tree(const agentflow::Tree& tree, const std::string& base, const Cut& cut);
  void remove_tree(const agentflow::Tree& tree, const Cut& cut);
  bool has_tree(const agentflow::Tree& tree);
  std::string take_checkpoint(const agentflow::Tree& tree, const std::string& name, const Cut& cut);
  void restore_checkpoint(const agentflow::Tree& tree, const std::string& commit, const Cut& cut);
  agentflow::MergedCommit merge_commits(const std::string& repository, const std::string& base, const std::string& ours,
                                        const std::string& theirs);
  void drop_checkpoints(const std::string& repository, const std::string& name);
  std::string commit_rest(const agentflow::Tree& tree, const std::string& message);
  agentflow::IntegrationTrial try_integration(const agentflow::Tree& tree, const agentflow::Integration& how);
  void integrate(const agentflow::Tree& tree, const std::string& target, const agentflow::IntegrationTrial& trial);
  void undo_integration(const agentflow::Tree& tree, const std::string& target,
                        const agentflow::IntegrationTrial& trial);

  // Refused (NO_REPOSITORY).
  RepositoryModel& at(const std::string& path);
  // Those whose folder is still there.
  std::map<std::string, RepositoryModel*> all();
  TreeModel* tree_at(const std::string& path);
  const CommitModel& commit(const std::string& id) const { return commits_.at(id); }
  bool has_commit(const std::string& older, const std::string& newer) const;
  // Counts up with each worktree and commit that is made, and is their number.
  int made() const { return made_; }

 private:
  TreeModel& tree_of(const agentflow::Tree& tree);
  bool take_up(RepositoryModel& repository, const agentflow::Tree& tree);
  void make_branch(RepositoryModel& repository, const std::string& branch, const std::string& base);
  void move_target(RepositoryModel& repository, const std::string& target, const std::string& from,
                   const std::string& to);
  std::string write(CommitModel commit, std::string_view salt);
  std::string common_ancestor(const std::string& one, const std::string& other) const;

  Stage& stage_;
  std::map<std::string, RepositoryModel> repositories_;
  std::map<std::string, CommitModel> commits_;
  int made_ = 0;
};

// Both may have changed a file, if to the same.
struct MergedFiles {
  Files files;
  std::vector<std::string> conflicts;
};
MergedFiles merge_files(const Files& base, const Files& ours, const Files& theirs);

}  // namespace skald::sim
