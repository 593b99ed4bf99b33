#include "agentflow/git/merge.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "skald/error.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kRebasedMax = 1000;
constexpr std::size_t kConflictPathMax = 4096;

std::vector<std::string> split_fields(std::string_view text, char end) {
  std::vector<std::string> out;
  while (!text.empty()) {
    const std::string_view field = text.substr(0, text.find(end));
    if (!field.empty()) out.emplace_back(field);
    text.remove_prefix(std::min(text.size(), field.size() + 1));
  }
  return out;
}

// The commit's tree as a child of `parent`: git takes no base for a merge before its version 2.40, it looks for it.
std::string show_as_child(const GitProgram& git, const GitPlace& repository, const GitCommit& commit,
                          const GitCommit& parent) {
  const std::string us = our_signature(commit.date());
  return write_commit(git, repository,
                      {.tree = commit.tree,
                       .parents = {parent.id},
                       .author = us,
                       .committer = us,
                       .message = "What a merge is computed from\n"});
}

// A commit on `tip`, as a merge with the commit's own parent as the base: for that, the tip's tree is shown to git as
// a child of that parent.
MergedTree pick_tree(const GitProgram& git, const GitPlace& repository, const GitCommit& tip, const GitCommit& picked,
                     const GitCommit& parent) {
  if (tip.tree == parent.tree) return {.tree = picked.tree, .conflicts = {}};
  return merge_trees(git, repository, show_as_child(git, repository, tip, parent), picked.id);
}

std::vector<std::string> commits_to_rebase(const GitProgram& git, const GitPlace& repository, const std::string& onto,
                                           const std::string& branch) {
  auto ids = split_fields(git.ask(repository, {"rev-list", "--reverse", "--topo-order", "--no-merges", "--cherry-pick",
                                               "--right-only", "--end-of-options", onto + "..." + branch, "--"}),
                          '\n');
  if (ids.size() > kRebasedMax)
    throw skald::Refused("GIT_FAILED", "the branch has more than 1000 commits to rebase; merge or squash it instead");
  return ids;
}

}  // namespace

bool is_ancestor(const GitProgram& git, const GitPlace& repository, const std::string& older,
                 const std::string& newer) {
  const auto asked = git.run(repository, {"merge-base", "--is-ancestor", "--end-of-options", older, newer});
  if (asked.exit_code > 1) throw_git_failed("merge-base", asked);
  return asked.ok();
}

MergedTree merge_trees(const GitProgram& git, const GitPlace& repository, const std::string& ours,
                       const std::string& theirs) {
  const auto merged = git.run(repository, {"merge-tree", "--write-tree", "--name-only", "--no-messages", "-z",
                                           "--end-of-options", ours, theirs});
  std::error_code ignored;
  if (merged.exit_code > 1 && std::filesystem::exists(repository.common + "/shallow", ignored))
    throw skald::Refused("GIT_FAILED",
                         "the repository is shallow and may lack where the branches part; fetch its whole "
                         "history (git fetch --unshallow): " +
                             git_words(merged.err));
  if (merged.exit_code > 1 || merged.truncated) throw_git_failed("merge-tree", merged);
  std::vector<std::string> fields = split_fields(merged.out, '\0');
  if (fields.empty()) throw_git_failed("merge-tree", merged);
  MergedTree out{.tree = fields[0], .conflicts = {}};
  if (merged.exit_code == 1)
    for (std::size_t i = 1; i < fields.size(); ++i)
      out.conflicts.push_back(skald::cut_text(fields[i], kConflictPathMax));
  return out;
}

MergedCommit merge_git_commits(const GitProgram& git, const GitPlace& repository, const std::string& base,
                               const std::string& ours, const std::string& theirs) {
  const GitCommit from = read_commit(git, repository, base), own = read_commit(git, repository, ours),
                  other = read_commit(git, repository, theirs);
  if (other.tree == from.tree || other.tree == own.tree) return {.commit = own.id, .conflicts = {}};
  MergedTree merged = merge_trees(git, repository, show_as_child(git, repository, own, from),
                                  show_as_child(git, repository, other, from));
  if (!merged.conflicts.empty()) return {.commit = "", .conflicts = std::move(merged.conflicts)};
  const std::string us = our_signature(other.date());
  return {.commit = write_commit(git, repository,
                                 {.tree = merged.tree,
                                  .parents = own.parents,
                                  .author = us,
                                  .committer = us,
                                  .message = "Works side by side, joined\n"}),
          .conflicts = {}};
}

RebasedCommits rebase_commits(const GitProgram& git, const GitPlace& repository, const GitCommit& onto,
                              const std::string& branch) {
  const std::vector<std::string> ids = commits_to_rebase(git, repository, onto.id, branch);
  std::vector<std::string> names;
  for (const std::string& id : ids) names.insert(names.end(), {id, id + "^"});
  const auto read = read_commits(git, repository, names);
  GitCommit tip = onto;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const auto &picked = read[2 * i], &parent = read[2 * i + 1];
    if (!picked || !parent)
      throw skald::Refused(
          "GIT_FAILED", "commit " + ids[i] + " has no parent here, so it cannot be rebased; merge the branch instead");
    const MergedTree merged = pick_tree(git, repository, tip, *picked, *parent);
    if (!merged.conflicts.empty()) return {.tip = "", .conflicts = merged.conflicts};
    if (merged.tree == tip.tree && picked->tree != parent->tree) continue;
    GitCommit next = *picked;
    next.tree = merged.tree;
    next.parents = {tip.id};
    next.committer = our_signature(picked->date());
    next.id = write_commit(git, repository, next);
    tip = std::move(next);
  }
  return {.tip = tip.id, .conflicts = {}};
}

}  // namespace agentflow
