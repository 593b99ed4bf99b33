#include "agentflow/repositories.h"

#include "agentflow/git/checkpoints.h"
#include "agentflow/git/clone.h"
#include "agentflow/git/command.h"
#include "agentflow/git/commits.h"
#include "agentflow/git/diff.h"
#include "agentflow/git/integration.h"
#include "agentflow/git/layout.h"
#include "agentflow/git/lock.h"
#include "agentflow/git/merge.h"
#include "agentflow/git/names.h"
#include "agentflow/git/snapshot.h"
#include "agentflow/git/target.h"
#include "agentflow/git/trees.h"
#include "skald/error.h"

namespace agentflow {
namespace {

class GitRepositories final : public Repositories {
 public:
  GitRepositories(const skald::Env& env, skald::Duration timeout) : git_(env, timeout), locks_(env, timeout) {}

  void clone(const std::string& remote, const std::string& path) override {
    check_remote(remote);
    check_path(path);
    clone_git_repository(git_, remote, path);
  }

  RepositoryFacts inspect(const std::string& path) override {
    const GitPlace place = repository_place(path);
    const std::string bare_and_shallow =
        git_.ask(place, {"rev-parse", "--is-bare-repository", "--is-shallow-repository"});
    const auto head = git_.run(place, {"symbolic-ref", "--quiet", "--short", "HEAD"});
    RepositoryFacts facts{.path = place.folder, .default_branch = ""};
    facts.bare = bare_and_shallow.starts_with("true");
    facts.shallow = bare_and_shallow.ends_with("true");
    if (head.ok() && read_commits(git_, place, {"HEAD"})[0])
      facts.default_branch = head.out.substr(0, head.out.find('\n'));
    return facts;
  }

  std::string resolve(const std::string& repository, const std::string& name) override {
    check_revision(name);
    const GitPlace place = repository_place(repository);
    // A branch before a tag of its name, and before a commit that begins so.
    for (const std::string& tried : {"refs/heads/" + name, name}) {
      const auto found = git_.run(place, {"rev-parse", "--verify", "--quiet", "--end-of-options", tried + "^{commit}"});
      if (found.ok()) return found.out.substr(0, found.out.find('\n'));
    }
    throw skald::Refused("NO_SUCH_REF", "the repository has no branch, tag or commit '" + git_words(name) + "'");
  }

  void add_tree(const Tree& tree, const std::string& base) override {
    check_commit(base);
    const GitPlace place = place_of(tree);
    const auto held = locks_.hold(place.common);
    add_git_tree(git_, place, tree, base);
  }

  void remove_tree(const Tree& tree) override {
    const GitPlace place = place_of(tree);
    const auto held = locks_.hold(place.common);
    remove_git_tree(git_, place, tree);
  }

  bool has_tree(const Tree& tree) override { return has_git_tree(place_of(tree), tree); }

  std::string take_checkpoint(const Tree& tree, const std::string& name) override {
    check_checkpoint_name(name);
    const GitPlace place = tree_place(tree);
    const auto held = locks_.hold(place.common);
    return take_git_checkpoint(git_, place, name);
  }

  void restore_checkpoint(const Tree& tree, const std::string& commit) override {
    check_commit(commit);
    const GitPlace place = tree_place(tree);
    const auto held = locks_.hold(place.common);
    restore_git_checkpoint(git_, place, tree.branch, commit);
  }

  MergedCommit merge_commits(const std::string& repository, const std::string& base, const std::string& ours,
                             const std::string& theirs) override {
    for (const std::string& commit : {base, ours, theirs}) check_commit(commit);
    return merge_git_commits(git_, repository_place(repository), base, ours, theirs);
  }

  void drop_checkpoints(const std::string& repository, const std::string& name) override {
    check_checkpoint_name(name);
    const GitPlace place = repository_place(repository);
    const auto held = locks_.hold(place.common);
    drop_git_checkpoints(git_, place, name);
  }

  Diff diff(const Tree& tree, const std::string& from, const std::optional<std::string>& to,
            std::size_t text_max) override {
    check_commit(from);
    if (to) check_commit(*to);
    const GitPlace place = to ? place_of(tree) : tree_place(tree);
    return git_diff(git_, place, from, to ? *to : snapshot_tree(git_, place), text_max);
  }

  std::string commit_rest(const Tree& tree, const std::string& message) override {
    check_message(message);
    const GitPlace place = tree_place(tree);
    const auto held = locks_.hold(place.common);
    return commit_git_rest(git_, place, tree.branch, message);
  }

  IntegrationTrial try_integration(const Tree& tree, const Integration& integration) override {
    check_integration(tree, integration);
    return try_git_integration(git_, place_of(tree), tree.branch, integration);
  }

  void integrate(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) override {
    check_integration(tree, integration);
    check_trial(trial);
    const GitPlace place = place_of(tree);
    const auto held = locks_.hold(place.common);
    bring_to_target(git_, place, integration.target, trial.before, trial.after, "skald: bring home " + tree.branch);
  }

  void undo_integration(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) override {
    check_integration(tree, integration);
    check_trial(trial);
    const GitPlace place = place_of(tree);
    const auto held = locks_.hold(place.common);
    take_from_target(git_, place, integration.target, trial.before, trial.after, "skald: take back " + tree.branch);
  }

 private:
  static GitPlace place_of(const Tree& tree) {
    check_path(tree.path);
    check_branch(tree.branch);
    return repository_place(tree.repository);
  }

  static void check_integration(const Tree& tree, const Integration& integration) {
    check_branch(integration.target);
    check_message(integration.message);
    check_integration_id(integration.id);
    if (integration.target == tree.branch)
      throw skald::Invalid("BAD_BRANCH", "a branch cannot be brought home to itself; name another target");
  }

  static void check_trial(const IntegrationTrial& trial) {
    if (trial.after.empty())
      throw skald::Invalid("BAD_COMMIT",
                           "a trial with conflicts cannot be integrated; resolve them on the branch first");
    check_commit(trial.after);
    if (!trial.before.empty()) check_commit(trial.before);
  }

  GitProgram git_;
  RepositoryLocks locks_;
};

}  // namespace

std::unique_ptr<Repositories> git_repositories(const skald::Env& env, skald::Duration timeout) {
  return std::make_unique<GitRepositories>(env, timeout);
}

}  // namespace agentflow
