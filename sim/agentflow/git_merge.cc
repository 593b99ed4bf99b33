// GitModel: what is computed from commits, and ways home.
#include <algorithm>
#include <set>

#include "sim/agentflow/git_model.h"

namespace skald::sim {
namespace {

std::optional<std::string> text_in(const Files& files, const std::string& name) {
  const auto found = files.find(name);
  return found == files.end() ? std::nullopt : std::optional(found->second);
}

void mix_text(std::uint64_t& hash, std::string_view text) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  hash = (hash ^ 0xff) * 0x100000001b3;
}

}  // namespace

MergedFiles merge_files(const Files& base, const Files& ours, const Files& theirs) {
  std::set<std::string> names;
  for (const Files* files : {&base, &ours, &theirs})
    for (const auto& [name, text] : *files) names.insert(name);
  MergedFiles out;
  for (const std::string& name : names) {
    const auto from = text_in(base, name), own = text_in(ours, name), other = text_in(theirs, name);
    if (own != other && own != from && other != from) {
      out.conflicts.push_back(name);
      continue;
    }
    if (const auto& text = own == from ? other : own) out.files[name] = *text;
  }
  return out;
}

// The same from the same has the same name.
std::string GitModel::write(CommitModel made, std::string_view salt) {
  std::uint64_t hash = 0xcbf29ce484222325;
  mix_text(hash, salt);
  for (const auto& [name, text] : made.files) mix_text(hash, name), mix_text(hash, text);
  for (const std::string& parent : made.parents) mix_text(hash, parent);
  std::string id;
  for (int i = 0; i < 40; ++i) id += "0123456789abcdef"[hash >> (i % 16 * 4) & 15];
  made.number = ++made_;
  commits_.try_emplace(id, std::move(made));
  return id;
}

bool GitModel::has_commit(const std::string& older, const std::string& newer) const {
  std::vector<std::string> open = {newer};
  std::set<std::string> seen;
  while (!open.empty()) {
    const std::string id = open.back();
    open.pop_back();
    if (id == older) return true;
    if (!seen.insert(id).second) continue;
    for (const std::string& parent : commit(id).parents) open.push_back(parent);
  }
  return false;
}

// The first on the way back from one of them: histories here have no criss-cross.
std::string GitModel::common_ancestor(const std::string& one, const std::string& other) const {
  std::vector<std::string> open = {one};
  for (std::size_t i = 0; i < open.size(); ++i) {
    if (has_commit(open[i], other)) return open[i];
    for (const std::string& parent : commit(open[i]).parents) open.push_back(parent);
  }
  return "";
}

agentflow::MergedCommit GitModel::merge_commits(const std::string& repository, const std::string& base,
                                                const std::string& ours, const std::string& theirs) {
  at(repository);
  MergedFiles merged = merge_files(commit(base).files, commit(ours).files, commit(theirs).files);
  if (!merged.conflicts.empty()) return {.commit = "", .conflicts = std::move(merged.conflicts)};
  return {.commit = write({.files = std::move(merged.files), .parents = commit(ours).parents}, "joined"),
          .conflicts = {}};
}

agentflow::IntegrationTrial GitModel::try_integration(const agentflow::Tree& tree, const agentflow::Integration& how) {
  const RepositoryModel& in = at(tree.repository);
  const auto target = in.branches.find(how.target);
  const bool there = target != in.branches.end();
  if (!in.branches.contains(tree.branch)) throw Refused("NO_SUCH_REF", "the workflow's branch has no commit");
  const std::string tip = in.branches.at(tree.branch);
  if (how.mode == agentflow::IntegrationMode::branch) {
    if (there && target->second != tip) throw Refused("BRANCH_TAKEN", "the repository has a branch " + how.target);
    return {.before = there ? tip : "", .after = tip, .conflicts = {}};
  }
  if (!there) throw Refused("NO_SUCH_REF", "there is no branch " + how.target);
  const std::string before = target->second;
  if (has_commit(tip, before)) return {.before = before, .after = before, .conflicts = {}};
  const std::string base = common_ancestor(tip, before);
  MergedFiles merged =
      merge_files(base.empty() ? Files{} : commit(base).files, commit(before).files, commit(tip).files);
  if (!merged.conflicts.empty()) return {.before = before, .after = "", .conflicts = std::move(merged.conflicts)};
  CommitModel made{.files = std::move(merged.files), .parents = {before}};
  if (how.mode == agentflow::IntegrationMode::merge) made.parents.push_back(tip);
  return {.before = before, .after = write(std::move(made), how.id), .conflicts = {}};
}

void GitModel::move_target(RepositoryModel& in, const std::string& target, const std::string& from,
                           const std::string& to) {
  if (from == to) return;
  const auto found = in.branches.find(target);
  const std::string now = found == in.branches.end() ? "" : found->second;
  if (now == to) return;
  if (now != from) throw Refused("TARGET_MOVED", "the branch " + target + " is at " + now + " by now");
  if (in.in_use && target == kMainBranch) throw Refused("TARGET_IN_USE", "the branch " + target + " has changes");
  if (to.empty()) in.branches.erase(target);
  else in.branches[target] = to;
}

void GitModel::integrate(const agentflow::Tree& tree, const std::string& target,
                         const agentflow::IntegrationTrial& trial) {
  RepositoryModel& in = at(tree.repository);
  try {
    move_target(in, target, trial.before, trial.after);
  } catch (const Refused& refused) {
    const auto now = in.branches.find(target);
    const bool is_in = now != in.branches.end() && has_commit(trial.after, now->second);
    if (refused.code() != "TARGET_MOVED" || !is_in) throw;
  }
}

void GitModel::undo_integration(const agentflow::Tree& tree, const std::string& target,
                                const agentflow::IntegrationTrial& trial) {
  RepositoryModel& in = at(tree.repository);
  try {
    move_target(in, target, trial.after, trial.before);
  } catch (const Refused& refused) {
    const auto now = in.branches.find(target);
    const bool is_in = now != in.branches.end() && has_commit(trial.after, now->second);
    if (refused.code() != "TARGET_MOVED" || is_in) throw;
  }
}

}  // namespace skald::sim
