#include "agentflow/git/trees.h"

#include <algorithm>
#include <filesystem>

#include "agentflow/git/checkouts.h"
#include "agentflow/git/commits.h"
#include "agentflow/git/layout.h"
#include "skald/error.h"

namespace agentflow {
namespace {

std::string mark_of(const std::string& branch) { return "refs/skald-trees/" + branch; }

bool has_content(const std::string& path) {
  std::error_code ignored;
  const auto kind = std::filesystem::symlink_status(path, ignored).type();
  if (kind == std::filesystem::file_type::not_found) return false;
  return kind != std::filesystem::file_type::directory || !std::filesystem::is_empty(path, ignored);
}

[[noreturn]] void throw_tree_taken(const Tree& tree) {
  throw skald::Refused("TREE_TAKEN",
                       "there is something else at " + tree.path + "; move it away, or take another folder");
}

// A folder whose registration is gone still says in its .git where it came from.
bool comes_from(const std::string& path, const GitPlace& repository) {
  return read_line_file(path + "/.git").starts_with("gitdir: " + repository.common + "/worktrees/");
}

// Where a registration lies while it is being removed. Whoever is killed over that is followed by one who finds it there.
std::string way_out(const GitPlace& repository, const std::string& branch) {
  std::string name = branch;
  std::ranges::replace(name, '/', '-');
  return repository.common + "/skald-removed-" + name;
}

// It goes at once, for half of one is nobody's.
void remove_registration(const GitPlace& repository, const std::string& branch, const TreeEntry& entry) {
  const std::string out = way_out(repository, branch);
  remove_folder(out);
  std::error_code error;
  std::filesystem::rename(entry.git_dir, out, error);
  if (error)
    throw skald::Unavailable("FOLDER_STAYS", "cannot rename " + entry.git_dir + " (" + error.message() +
                                                 "); look at its rights, then try again");
  remove_folder(out);
}

// The registration last: it is what says that the folder is ours.
void remove_entry(const GitPlace& repository, const std::string& branch, const TreeEntry& entry,
                  const std::string& path) {
  remove_folder(path);
  remove_registration(repository, branch, entry);
}

// Made by a call of ours that was killed before its end: the branch's mark came first.
bool is_half_ours(const TreeEntry& entry, const std::string& branch, bool marked) {
  return marked && entry.made_for.empty() && (entry.half_made || entry.head == "ref: refs/heads/" + branch);
}

// The refs in one transaction. Where they are there, they are ours, or the branch is taken.
void make_branch(const GitProgram& git, const GitPlace& repository, const std::string& branch,
                 const std::string& base) {
  const std::string mark = mark_of(branch), ref = "refs/heads/" + branch;
  const auto made = git.run(repository, {"update-ref", "--stdin"},
                            {.text = "create " + mark + " " + base + "\ncreate " + ref + " " + base + "\n"});
  if (made.ok()) return;
  const auto there = read_commits(git, repository, {mark, ref});
  if (there[0] && there[1]) return;  // the branch keeps what was committed to it
  if (there[1])
    throw skald::Refused("BRANCH_TAKEN",
                         "the repository has a branch '" + branch + "' that is not the workflow's; rename it");
  if (!there[0]) throw_git_failed("update-ref", made);
  git.ask(repository, {"update-ref", ref, base, ""});
}

// Clears away what a call that was killed has left. True: all is there already.
bool take_up(const GitProgram& git, const GitPlace& repository, const Tree& tree, const std::string& path) {
  const auto entry = find_tree_entry(repository, path);
  if (!entry) {
    if (has_content(path) && !comes_from(path, repository)) throw_tree_taken(tree);
    if (has_content(path)) remove_folder(path);
    return false;
  }
  if (entry->made_for == tree.branch && entry->has_folder) return true;
  if (entry->made_for != tree.branch &&
      !is_half_ours(*entry, tree.branch, read_commits(git, repository, {mark_of(tree.branch)})[0].has_value()))
    throw_tree_taken(tree);
  remove_entry(repository, tree.branch, *entry, path);
  return false;
}

}  // namespace

void add_git_tree(const GitProgram& git, const GitPlace& repository, const Tree& tree, const std::string& base) {
  const std::string path = canonical_path(tree.path);
  if (path == repository.folder || (path + "/").starts_with(repository.common + "/")) throw_tree_taken(tree);
  if (take_up(git, repository, tree, path)) return;
  make_branch(git, repository, tree.branch, base);
  const auto added = git.run(repository, {"worktree", "add", "--quiet", "--", path, tree.branch});
  if (!added.ok() && added.err.find("already checked out at") != added.err.npos)
    throw skald::Refused("BRANCH_IN_USE",
                         "the workflow's branch '" + tree.branch +
                             "' is checked out elsewhere; leave it there first: " + git_words(added.err));
  if (!added.ok()) throw_git_failed("worktree add", added);
  const auto entry = find_tree_entry(repository, path);
  if (!entry)
    throw skald::Unavailable("GIT_FAILED", "git has made a worktree at " + path + " that is gone already; try again");
  mark_tree_entry(entry->git_dir, tree.branch);
}

void remove_git_tree(const GitProgram& git, const GitPlace& repository, const Tree& tree) {
  const std::string path = canonical_path(tree.path), ref = "refs/heads/" + tree.branch, mark = mark_of(tree.branch);
  const auto marked = read_commits(git, repository, {mark, ref});
  const auto entry = find_tree_entry(repository, path);
  if (entry && (entry->made_for == tree.branch || is_half_ours(*entry, tree.branch, marked[0].has_value())))
    remove_entry(repository, tree.branch, *entry, path);
  // Somebody has put a link in the way: what is behind it is not ours.
  if (const auto lost = entry ? std::nullopt : find_tree_entry(repository, tree.path);
      lost && lost->made_for == tree.branch)
    remove_registration(repository, tree.branch, *lost);
  if (!entry) remove_folder(way_out(repository, tree.branch));
  if (!entry && marked[0] && comes_from(path, repository)) remove_folder(path);
  if (!marked[0]) return;
  for (const Checkout& checkout : list_checkouts(git, repository))
    if (checkout.branch == ref)
      throw skald::Refused("BRANCH_IN_USE", "the workflow's branch '" + tree.branch + "' is checked out at " +
                                                checkout.folder + "; leave it there, then remove it again");
  const std::string branch_line = marked[1] ? "delete " + ref + "\n" : "";
  git.ask(repository, {"update-ref", "--stdin"}, {.text = branch_line + "delete " + mark + "\n"});
}

bool has_git_tree(const GitPlace& repository, const Tree& tree) {
  const auto entry = find_tree_entry(repository, canonical_path(tree.path));
  return entry && entry->made_for == tree.branch && entry->has_folder;
}

}  // namespace agentflow
