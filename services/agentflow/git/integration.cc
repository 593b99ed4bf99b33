#include "agentflow/git/integration.h"

#include "agentflow/git/commits.h"
#include "agentflow/git/layout.h"
#include "agentflow/git/merge.h"
#include "agentflow/git/snapshot.h"
#include "skald/error.h"

namespace agentflow {
namespace {

std::string ended_line(std::string text, const std::string& otherwise) {
  while (text.ends_with('\n')) text.pop_back();
  return (text.empty() ? otherwise : text) + "\n";
}

std::string integration_message(const std::string& branch, const Integration& integration) {
  const std::string text = ended_line(integration.message, "Bring home " + branch);
  return integration.id.empty() ? text : text + "\nSkald-Integration: " + integration.id + "\n";
}

// The branch under another name, where that is free.
IntegrationTrial try_naming(const std::optional<GitCommit>& target, const GitCommit& branch, const std::string& name) {
  if (target && target->id != branch.id)
    throw skald::Refused("BRANCH_TAKEN",
                         "the repository has a branch '" + name + "' at another commit; take another name");
  return {.before = target ? target->id : "", .after = branch.id, .conflicts = {}};
}

IntegrationTrial try_merging(const GitProgram& git, const GitPlace& repository, const GitCommit& target,
                             const GitCommit& branch, const std::string& message, bool squash) {
  MergedTree merged = merge_trees(git, repository, target.id, branch.id);
  if (!merged.conflicts.empty()) return {.before = target.id, .after = "", .conflicts = std::move(merged.conflicts)};
  if (squash && merged.tree == target.tree) return {.before = target.id, .after = target.id, .conflicts = {}};
  const std::string us = our_signature(branch.date());
  GitCommit commit{.tree = merged.tree, .parents = {target.id}, .author = us, .committer = us, .message = message};
  if (!squash) commit.parents.push_back(branch.id);
  return {.before = target.id, .after = write_commit(git, repository, commit), .conflicts = {}};
}

IntegrationTrial try_rebasing(const GitProgram& git, const GitPlace& repository, const GitCommit& target,
                              const GitCommit& branch) {
  if (is_ancestor(git, repository, target.id, branch.id))
    return {.before = target.id, .after = branch.id, .conflicts = {}};
  RebasedCommits rebased = rebase_commits(git, repository, target, branch.id);
  return {.before = target.id, .after = rebased.tip, .conflicts = std::move(rebased.conflicts)};
}

}  // namespace

std::string commit_git_rest(const GitProgram& git, const GitPlace& place, const std::string& branch,
                            const std::string& message) {
  const std::string ref = "refs/heads/" + branch;
  const auto there = read_commits(git, place, {"HEAD", ref});
  const auto &head = there[0], &tip = there[1];
  if (tip && (!head || (head->id != tip->id && !is_ancestor(git, place, tip->id, head->id))))
    throw skald::Refused("BRANCH_LEFT", "the worktree at " + place.folder + " has left its branch '" + branch +
                                            "'; check that out again, with what is to be brought home on it");
  // The index first: a crash then leaves staged changes, never a commit that the index contradicts.
  add_everything(git, place, {});
  const std::string tree = git.ask(place, {"write-tree"});
  std::string id = head ? head->id : "";
  if (!head || head->tree != tree) {
    const std::string us = our_signature(git.env().clock.now());
    GitCommit commit{.tree = tree, .author = us, .committer = us, .message = ended_line(message, "Work on " + branch)};
    if (head) commit.parents = {head->id};
    id = write_commit(git, place, commit);
  }
  if (!tip || tip->id != id) git.ask(place, {"update-ref", ref, id, tip ? tip->id : ""});
  if (read_line_file(place.git_dir + "/HEAD") != "ref: " + ref) git.ask(place, {"symbolic-ref", "HEAD", ref});
  forget_operation(place.git_dir);
  return id;
}

IntegrationTrial try_git_integration(const GitProgram& git, const GitPlace& repository, const std::string& branch,
                                     const Integration& integration) {
  const auto there = read_commits(git, repository, {"refs/heads/" + integration.target, "refs/heads/" + branch});
  const auto& target = there[0];
  if (!there[1])
    throw skald::Refused("NO_SUCH_REF", "the workflow's branch '" + branch + "' has no commit; was it removed?");
  const GitCommit& tip = *there[1];
  if (integration.mode == IntegrationMode::branch) return try_naming(target, tip, integration.target);
  if (!target)
    throw skald::Refused("NO_SUCH_REF", "there is no branch '" + integration.target +
                                            "' to bring the work to; make it, or use the mode branch");
  if (is_ancestor(git, repository, tip.id, target->id))
    return {.before = target->id, .after = target->id, .conflicts = {}};
  if (integration.mode == IntegrationMode::rebase) return try_rebasing(git, repository, *target, tip);
  return try_merging(git, repository, *target, tip, integration_message(branch, integration),
                     integration.mode == IntegrationMode::squash);
}

}  // namespace agentflow
