#include "sim/agentflow/git_model.h"

#include <filesystem>

namespace skald::sim {

using agentflow::Tree;
namespace fs = std::filesystem;

RepositoryModel& GitModel::at(const std::string& path) {
  const auto found = repositories_.find(path);
  if (found == repositories_.end() || !fs::exists(path))
    throw Refused("NO_REPOSITORY", "there is no repository at " + path);
  return found->second;
}

std::map<std::string, RepositoryModel*> GitModel::all() {
  std::map<std::string, RepositoryModel*> out;
  for (auto& [path, repository] : repositories_)
    if (fs::exists(path)) out[path] = &repository;
  return out;
}

void GitModel::make_repository(const std::string& path) {
  fs::create_directories(path);
  repositories_[path].branches[kMainBranch] = write({.files = {{"README", "first"}}, .parents = {}}, path);
}

void GitModel::commit_by_person(RepositoryModel& repository, const std::string& branch, const std::string& file) {
  std::string& tip = repository.branches.at(branch);
  CommitModel next{.files = commit(tip).files, .parents = {tip}};
  next.files[file] = "by a person, " + std::to_string(++made_);
  tip = write(std::move(next), "person");
}

// Whole or not at all: it is made beside its place, and renamed.
void GitModel::clone(const std::string& remote, const std::string& path, const Cut& cut) {
  const auto there = repositories_.find(path);
  if (there != repositories_.end() && fs::exists(path)) {
    if (there->second.origin == remote) return;
    throw Refused("TREE_TAKEN", "there is something else at " + path);
  }
  const auto from = repositories_.find(remote);
  if (from == repositories_.end()) throw Refused("GIT_FAILED", "git clone said no: there is no " + remote);
  cut();
  fs::create_directories(path);
  repositories_[path] = {.origin = remote, .branches = from->second.branches};
}

std::string GitModel::resolve(const std::string& repository, const std::string& name) {
  const RepositoryModel& in = at(repository);
  const auto branch = in.branches.find(name == "HEAD" ? kMainBranch : name);
  if (branch == in.branches.end()) throw Refused("NO_SUCH_REF", "the repository has no branch " + name);
  return branch->second;
}

TreeModel* GitModel::tree_at(const std::string& path) {
  for (auto& [place, repository] : repositories_) {
    const auto found = repository.trees.find(path);
    if (found != repository.trees.end() && fs::exists(place) && fs::exists(path)) return &found->second;
  }
  return nullptr;
}

TreeModel& GitModel::tree_of(const Tree& tree) {
  RepositoryModel& in = at(tree.repository);
  const auto found = in.trees.find(tree.path);
  if (found == in.trees.end() || !fs::exists(tree.path)) throw Refused("NO_TREE", "there is no worktree " + tree.path);
  return found->second;
}

bool GitModel::take_up(RepositoryModel& repository, const Tree& tree) {
  const auto entry = repository.trees.find(tree.path);
  const bool has_folder = fs::exists(tree.path);
  if (entry == repository.trees.end()) {
    if (has_folder && !fs::is_empty(tree.path)) throw Refused("TREE_TAKEN", "there is something else at " + tree.path);
    return false;
  }
  if (entry->second.made_for == tree.branch && has_folder) return true;
  const bool half_ours = repository.marks.contains(tree.branch) && entry->second.made_for.empty();
  if (entry->second.made_for != tree.branch && !half_ours)
    throw Refused("TREE_TAKEN", "there is something else at " + tree.path);
  fs::remove_all(tree.path);
  repository.trees.erase(entry);
  return false;
}

void GitModel::make_branch(RepositoryModel& repository, const std::string& branch, const std::string& base) {
  const bool marked = repository.marks.contains(branch), there = repository.branches.contains(branch);
  if (there && !marked) throw Refused("BRANCH_TAKEN", "the repository has a branch " + branch);
  repository.marks.insert(branch);
  repository.branches.try_emplace(branch, base);
}

void GitModel::add_tree(const Tree& tree, const std::string& base, const Cut& cut) {
  RepositoryModel& in = at(tree.repository);
  if (take_up(in, tree)) return;
  make_branch(in, tree.branch, base);
  cut();
  fs::create_directories(tree.path);
  TreeModel& made = in.trees[tree.path];
  made = {.made_for = "", .branch = tree.branch, .files = commit(in.branches.at(tree.branch)).files, .number = ++made_};
  cut();
  made.made_for = tree.branch;
}

void GitModel::remove_tree(const Tree& tree, const Cut& cut) {
  RepositoryModel& in = at(tree.repository);
  const bool marked = in.marks.contains(tree.branch);
  const auto entry = in.trees.find(tree.path);
  if (entry != in.trees.end() &&
      (entry->second.made_for == tree.branch || (marked && entry->second.made_for.empty()))) {
    fs::remove_all(tree.path);
    cut();
    in.trees.erase(entry);
    cut();
  }
  if (!marked) return;
  in.branches.erase(tree.branch);
  in.marks.erase(tree.branch);
}

bool GitModel::has_tree(const Tree& tree) {
  const auto& trees = at(tree.repository).trees;
  const auto entry = trees.find(tree.path);
  return entry != trees.end() && entry->second.made_for == tree.branch && fs::exists(tree.path);
}

std::string GitModel::take_checkpoint(const Tree& tree, const std::string& name, const Cut& cut) {
  const TreeModel& from = tree_of(tree);
  RepositoryModel& in = at(tree.repository);
  if (const auto there = in.refs.find(name); there != in.refs.end()) return there->second;
  const std::string id =
      write({.files = from.files, .parents = {in.branches.at(from.branch)}}, name + std::to_string(++made_));
  cut();
  return in.refs[name] = id;
}

void GitModel::restore_checkpoint(const Tree& tree, const std::string& id, const Cut& cut) {
  TreeModel& to = tree_of(tree);
  const auto found = commits_.find(id);
  if (found == commits_.end()) throw Refused("NO_SUCH_REF", "the repository has no commit " + id);
  to.branch = tree.branch;
  to.files = found->second.files;
  cut();
  at(tree.repository).branches[tree.branch] = found->second.parents.at(0);
}

void GitModel::drop_checkpoints(const std::string& repository, const std::string& name) {
  std::erase_if(at(repository).refs,
                [&](const auto& ref) { return ref.first == name || ref.first.starts_with(name + "/"); });
}

std::string GitModel::commit_rest(const Tree& tree, const std::string& message) {
  const TreeModel& from = tree_of(tree);
  std::string& tip = at(tree.repository).branches.at(tree.branch);
  if (commit(tip).files != from.files)
    tip = write({.files = from.files, .parents = {tip}}, message + std::to_string(++made_));
  return tip;
}

}  // namespace skald::sim
