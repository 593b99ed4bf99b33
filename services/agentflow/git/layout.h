// Where the parts of a repository lie on disk (gitrepository-layout(5)), read without asking git: a process costs more
// than all of this, and a worktree whose .git an agent has removed or bent is found all the same.
#pragma once

#include <optional>
#include <string>

#include "agentflow/git/command.h"
#include "agentflow/repositories.h"

namespace agentflow {

// The repository at that folder: a clone, a linked worktree, or a bare one. Refused (NO_REPOSITORY); Invalid (BAD_PATH).
GitPlace repository_place(const std::string& folder);

// A worktree as the repository has it registered, under worktrees/ in the folder that all share.
struct TreeEntry {
  std::string git_dir;
  std::string head;  // what its HEAD holds: "ref: refs/heads/…", or a commit
  std::string made_for;  // the branch that add_tree() has made it for; written last. Empty: not ours, or half made
  bool half_made = false;  // git was ended while it made this
  bool has_folder = false;  // its files lie where they should
};
// `path` is canonical.
std::optional<TreeEntry> find_tree_entry(const GitPlace& repository, const std::string& path);
void mark_tree_entry(const std::string& git_dir, const std::string& branch);

// The workflow's worktree, for commands in it. Refused: NO_REPOSITORY, NO_TREE.
GitPlace tree_place(const Tree& tree);
// A checkout that git has listed, and that is not ours.
GitPlace somebodys_place(const GitPlace& repository, const std::string& folder);

// With symbolic links resolved as far as it is there.
std::string canonical_path(const std::string& path);
// The first 64 KiB without the last line's end; empty where there is none.
std::string read_line_file(const std::string& path);
// Whether a merge, rebase or the like waits there for its end.
bool is_amid_operation(const std::string& git_dir);
// Forgets it, with what it wanted to do next.
void forget_operation(const std::string& git_dir);
// With everything in it, also what is write protected; links are not followed. Unavailable (FOLDER_STAYS).
void remove_folder(const std::string& path);

}  // namespace agentflow
