#include "agentflow/git/checkpoints.h"

#include <algorithm>
#include <string_view>

#include "agentflow/git/commits.h"
#include "agentflow/git/layout.h"
#include "agentflow/git/snapshot.h"

namespace agentflow {

std::string take_git_checkpoint(const GitProgram& git, const GitPlace& place, const std::string& name) {
  const std::string ref = "refs/skald/" + name;
  const auto there = read_commits(git, place, {ref, "HEAD"});
  if (there[0]) return there[0]->id;
  const std::string us = our_signature(git.env().clock.now());
  GitCommit commit{
      .tree = snapshot_tree(git, place), .author = us, .committer = us, .message = "Checkpoint " + name + "\n"};
  if (there[1]) commit.parents = {there[1]->id};
  const std::string id = write_commit(git, place, commit);
  git.ask(place, {"update-ref", ref, id, ""});
  return id;
}

void restore_git_checkpoint(const GitProgram& git, const GitPlace& place, const std::string& branch,
                            const std::string& commit) {
  const GitCommit checkpoint = read_commit(git, place, commit);
  const std::string ref = "refs/heads/" + branch;
  forget_operation(place.git_dir);
  if (read_line_file(place.git_dir + "/HEAD") != "ref: " + ref) git.ask(place, {"symbolic-ref", "HEAD", ref});
  // With everything of the checkpoint in the index, what is untracked is what it does not have.
  git.ask(place, {"read-tree", "--reset", "-u", checkpoint.id});
  git.ask(place, {"clean", "-ffdq"});
  if (checkpoint.parents.empty()) {
    git.ask(place, {"update-ref", "-d", ref});
    git.ask(place, {"read-tree", "--empty"});
    return;
  }
  git.ask(place, {"update-ref", ref, checkpoint.parents[0]});
  git.ask(place, {"reset", "--quiet", "--mixed"});
}

void drop_git_checkpoints(const GitProgram& git, const GitPlace& repository, const std::string& name) {
  const std::string ref = "refs/skald/" + name;
  const std::string found = git.ask(repository, {"for-each-ref", "--format=%(refname)", ref, ref + "/"});
  std::string deletions;
  for (std::string_view rest = found; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    deletions += "delete " + std::string(line) + "\n";
    rest.remove_prefix(std::min(rest.size(), line.size() + 1));
  }
  if (!deletions.empty()) git.ask(repository, {"update-ref", "--stdin"}, {.text = deletions});
}

}  // namespace agentflow
