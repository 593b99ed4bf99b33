// Git repositories as workflows use them: a worktree and a branch each, checkpoints over everything that lies in a
// worktree, and ways home.
//
// Every call may be repeated: what is done already is found done. Calls of one repository wait for each other, also
// those of other processes (a file lock beside the repository's own), because git's own locks make the second fail.
//
// | what happens                                       | what is thrown                                     |
// | the repository has moved, or is none                | Refused NO_REPOSITORY                               |
// | the workflow's worktree is not there                | Refused NO_TREE                                     |
// | git says no (its words are in the message)          | Refused GIT_FAILED                                  |
// | git takes too long; another process holds the lock  | Unavailable GIT_TIMEOUT, GIT_BUSY                   |
// | git is killed; a folder cannot be removed or made   | Unavailable GIT_KILLED, FOLDER_STAYS                |
// | a name or path that git could misread               | Invalid BAD_BRANCH, BAD_CHECKPOINT, BAD_COMMIT,     |
// |                                                     | BAD_PATH, BAD_REMOTE, BAD_COMMIT_MESSAGE                   |
// | a worktree's folder or branch is somebody else's    | Refused TREE_TAKEN, BRANCH_TAKEN                    |
// | a person has the workflow's branch checked out      | Refused BRANCH_IN_USE                               |
//
// An interface, because the simulator has repositories of its own. Thread safe.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "skald/env.h"
#include "skald/json.h"

namespace agentflow {

// A worktree of one workflow in one repository.
struct Tree {
  std::string repository;  // the repository's folder: a clone with a worktree of its own, or a bare one
  std::string path;        // the worktree's folder
  std::string branch;      // the workflow's own
};

struct RepositoryFacts {
  std::string path;            // canonical
  std::string default_branch;  // that HEAD names; empty where it names none, or there is no commit yet
  bool bare = false, shallow = false;
};

struct FileChange {
  std::string path;  // bytes that are no UTF-8 are shown as '?'
  std::string kind;  // added, modified, deleted, renamed, type
  std::optional<std::string> old_path;
  std::int64_t lines_added = 0, lines_deleted = 0;  // of text
  bool binary = false;
};
BOOST_DESCRIBE_STRUCT(FileChange, (), (path, kind, old_path, lines_added, lines_deleted, binary))

struct Diff {
  std::vector<FileChange> files;
  std::string text;        // a unified diff
  bool truncated = false;  // the text; all files are named
};

enum class IntegrationMode { merge, rebase, squash, branch };
BOOST_DESCRIBE_ENUM(IntegrationMode, merge, rebase, squash, branch)

struct Integration {
  IntegrationMode mode = IntegrationMode::merge;
  std::string target;   // the branch that gets it; for `branch`, the name under which it is left
  std::string message;  // of the commit that it makes
  std::string id;       // the same at every try
};

// What a branch would become, found without touching it.
struct IntegrationTrial {
  std::string before;                  // the target's commit; empty: it is not there yet
  std::string after;                   // the commit that it would become; empty where there are conflicts
  std::vector<std::string> conflicts;  // files
};

struct MergedCommit {
  std::string commit;                  // empty where there are conflicts
  std::vector<std::string> conflicts;  // files
};

class Repositories {
 public:
  virtual ~Repositories() = default;

  // Into `path`, whole or not at all. A remote is a URL (https, ssh, git, file), host:path, or an absolute folder.
  // Where there is a clone of that remote already: nothing.
  virtual void clone(const std::string& remote, const std::string& path) = 0;
  virtual RepositoryFacts inspect(const std::string& path) = 0;
  // The commit that a branch, tag or commit names, in this order. Refused (NO_SUCH_REF).
  virtual std::string resolve(const std::string& repository, const std::string& name) = 0;

  // A new branch at `base` (a commit's id), checked out at the tree's path. A tree that is there keeps what is in it, and a
  // branch that is ours keeps its commits; one of somebody else is never taken over, not even at the same commit.
  virtual void add_tree(const Tree& tree, const std::string& base) = 0;
  // The worktree with everything in it, and its branch. Only what add_tree() has made.
  virtual void remove_tree(const Tree& tree) = 0;
  virtual bool has_tree(const Tree& tree) = 0;

  // Everything that lies in the worktree (new files too, ignored ones not) as a commit under refs/skald/{name}, whose
  // parent is HEAD. HEAD, index and files stay untouched. Returns the commit; where the ref is there, its commit.
  // Repositories inside of the worktree are kept as the commit that they are at, those without one not at all.
  virtual std::string take_checkpoint(const Tree& tree, const std::string& name) = 0;
  // Branch and files as they were at that checkpoint, HEAD on the branch; what was not committed then, staged or not, is not
  // committed and not staged. What is there now and not kept by a checkpoint is gone, but for ignored files.
  virtual void restore_checkpoint(const Tree& tree, const std::string& commit) = 0;
  // What `theirs` has changed since `base`, brought into `ours`: a commit with the parents of `ours`, so that restoring it
  // leaves the branch where it is. Moves nothing; the same from the same gives the same commit.
  virtual MergedCommit merge_commits(const std::string& repository, const std::string& base, const std::string& ours,
                                     const std::string& theirs) = 0;
  // Removes refs/skald/{name}, or all below refs/skald/{name}/ as well.
  virtual void drop_checkpoints(const std::string& repository, const std::string& name) = 0;

  // Between two commits, or from a commit to what lies in the worktree now.
  virtual Diff diff(const Tree& tree, const std::string& from, const std::optional<std::string>& to,
                    std::size_t text_max) = 0;

  // What lies in the worktree and is not committed is committed to its branch first, under the integration's message.
  // Returns the branch's commit. Refused (BRANCH_LEFT) where the worktree is at a commit that does not follow from it.
  virtual std::string commit_rest(const Tree& tree, const std::string& message) = 0;
  // Moves nothing; the same from the same gives the same commit. A merge is always a commit of its own. Refused:
  // NO_SUCH_REF where the target is not there, BRANCH_TAKEN where mode `branch` finds its name in use.
  virtual IntegrationTrial try_integration(const Tree& tree, const Integration& integration) = 0;
  // Moves the target from `trial.before` to `trial.after`. Refused TARGET_MOVED where it is elsewhere by now,
  // TARGET_IN_USE where it is checked out with changes; a clean checkout of it follows.
  virtual void integrate(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) = 0;
  // The way back of integrate(): the target is at `trial.before` again, unless somebody has moved it on since
  // (TARGET_MOVED).
  virtual void undo_integration(const Tree& tree, const Integration& integration, const IntegrationTrial& trial) = 0;
};

// By the git program, 2.38 or newer. `timeout` is of each git command, and of waiting for others.
std::unique_ptr<Repositories> git_repositories(const skald::Env& env, skald::Duration timeout);

}  // namespace agentflow
