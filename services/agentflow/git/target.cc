#include "agentflow/git/target.h"

#include <vector>

#include "agentflow/git/checkouts.h"
#include "agentflow/git/commits.h"
#include "agentflow/git/layout.h"
#include "agentflow/git/merge.h"
#include "skald/error.h"

namespace agentflow {
namespace {

[[noreturn]] void throw_in_use(const std::string& target, const std::string& folder, const std::string& why) {
  throw skald::Refused("TARGET_IN_USE", "the branch '" + target + "' is checked out at " + folder + " and " + why +
                                            "; commit or put away what is there, then try again");
}

std::vector<GitPlace> places_of(const GitProgram& git, const GitPlace& repository, const std::string& target) {
  std::vector<GitPlace> out;
  for (const Checkout& checkout : list_checkouts(git, repository)) {
    if (checkout.branch != "refs/heads/" + target) continue;
    if (checkout.rebasing) throw_in_use(target, checkout.folder, "is being rebased there");
    out.push_back(somebodys_place(repository, checkout.folder));
  }
  return out;
}

// Two commits to read-tree: files change from one to the other, and nothing that is not in either is overwritten.
GitWords switching(const std::string& from, const std::string& to, bool dry) {
  GitWords words = {"read-tree", "-m", "-u"};
  if (dry) words.emplace_back("-n");
  words.insert(words.end(), {"--end-of-options", from, to});
  return words;
}

void check_can_follow(const GitProgram& git, const GitPlace& place, const std::string& target, const std::string& from,
                      const std::string& to) {
  if (to.empty()) throw_in_use(target, place.folder, "would be gone there");
  if (is_amid_operation(place.git_dir))
    throw_in_use(target, place.folder, "a merge or the like waits there for its end");
  if (!git.ask(place, {"status", "--porcelain", "-z", "--untracked-files=no", "--ignore-submodules=all"}).empty())
    throw_in_use(target, place.folder, "has changes there");
  // Files that were touched and not changed would stand in the way of read-tree.
  git.run(place, {"update-index", "-q", "--refresh"});
  const auto tried = git.run(place, switching(from, to, true));
  if (!tried.ok()) throw_in_use(target, place.folder, "cannot follow there (" + git_words(tried.err) + ")");
}

// After a crash between the branch's move and this: the index is still as it was, and the files as the index.
bool is_left_behind(const GitProgram& git, const GitPlace& place, const std::string& from) {
  git.run(place, {"update-index", "-q", "--refresh"});
  return git.run(place, {"diff-index", "--cached", "--quiet", "--ignore-submodules=all", from, "--"}).ok() &&
         git.run(place, {"diff-files", "--quiet", "--ignore-submodules=all"}).ok();
}

void catch_up(const GitProgram& git, const GitPlace& repository, const std::string& target, const std::string& from,
              const std::string& to) {
  if (from.empty() || to.empty()) return;
  for (const GitPlace& place : places_of(git, repository, target))
    if (is_left_behind(git, place, from)) git.ask(place, switching(from, to, false));
}

void update_target(const GitProgram& git, const GitPlace& repository, const std::string& ref, const std::string& from,
                   const std::string& to, const std::string& reason) {
  const GitWords words = to.empty() ? GitWords{"update-ref", "-m", reason, "-d", ref, from}
                                    : GitWords{"update-ref", "-m", reason, "--create-reflog", ref, to, from};
  git.ask(repository, words);
}

bool has_commit(const GitProgram& git, const GitPlace& repository, const std::string& target,
                const std::string& commit) {
  const auto now = read_commits(git, repository, {"refs/heads/" + target})[0];
  return now && is_ancestor(git, repository, commit, now->id);
}

}  // namespace

void move_target(const GitProgram& git, const GitPlace& repository, const std::string& target, const std::string& from,
                 const std::string& to, const std::string& reason) {
  if (from == to) return;
  const std::string ref = "refs/heads/" + target;
  const auto now = read_commits(git, repository, {ref})[0];
  const std::string at = now ? now->id : "";
  if (at == to) return catch_up(git, repository, target, from, to);
  if (at != from)
    throw skald::Refused("TARGET_MOVED", "the branch '" + target + "' is at " + (at.empty() ? "no commit" : at) +
                                             " by now; look at what came in between, then try again");
  const std::vector<GitPlace> places = places_of(git, repository, target);
  for (const GitPlace& place : places) check_can_follow(git, place, target, from, to);
  update_target(git, repository, ref, from, to, reason);
  for (const GitPlace& place : places) {
    const auto followed = git.run(place, switching(from, to, false));
    if (followed.ok()) continue;
    // Somebody has begun to work there this very moment.
    update_target(git, repository, ref, to, from, reason + " is taken back");
    throw_in_use(target, place.folder, "cannot follow there (" + git_words(followed.err) + ")");
  }
}

void bring_to_target(const GitProgram& git, const GitPlace& repository, const std::string& target,
                     const std::string& from, const std::string& to, const std::string& reason) {
  try {
    move_target(git, repository, target, from, to, reason);
  } catch (const skald::Refused& refused) {
    if (refused.code() != "TARGET_MOVED" || !has_commit(git, repository, target, to)) throw;
  }
}

void take_from_target(const GitProgram& git, const GitPlace& repository, const std::string& target,
                      const std::string& from, const std::string& to, const std::string& reason) {
  try {
    move_target(git, repository, target, to, from, reason);
  } catch (const skald::Refused& refused) {
    if (refused.code() != "TARGET_MOVED" || has_commit(git, repository, target, to)) throw;
  }
}

}  // namespace agentflow
