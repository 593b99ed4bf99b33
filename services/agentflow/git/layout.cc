#include "agentflow/git/layout.h"

#include <array>
#include <filesystem>
#include <fstream>

#include "agentflow/git/names.h"
#include "skald/error.h"

namespace agentflow {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLineFileMax = 64 << 10;
constexpr const char* kOwnerFile = "/skald";
// What git keeps while a merge, rebase or the like waits; and what may stay behind of one.
constexpr std::array kOperationMarks = {"/MERGE_HEAD",   "/CHERRY_PICK_HEAD", "/REVERT_HEAD", "/rebase-merge",
                                        "/rebase-apply", "/sequencer",        "/BISECT_LOG"};
constexpr std::array kOperationRests = {"/MERGE_MSG", "/MERGE_MODE", "/AUTO_MERGE", "/SQUASH_MSG", "/BISECT_START"};

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

// `named` may be relative to `folder`.
std::string joined(const std::string& folder, const std::string& named) {
  return canonical_path(named.starts_with('/') ? named : folder + "/" + named);
}

// The git folder that belongs to a folder with files, or the folder itself where it is a bare repository.
std::string git_dir_of(const std::string& folder) {
  const std::string inside = folder + "/.git";
  if (is_folder(inside)) return canonical_path(inside);
  if (!is_there(inside)) return folder;
  const std::string line = read_line_file(inside);
  constexpr std::string_view kWord = "gitdir: ";
  return line.starts_with(kWord) ? joined(folder, line.substr(kWord.size())) : folder;
}

std::optional<TreeEntry> read_entry(const std::string& git_dir, const std::string& path) {
  if (read_line_file(git_dir + "/gitdir") != path + "/.git") return std::nullopt;
  return TreeEntry{.git_dir = git_dir,
                   .head = read_line_file(git_dir + "/HEAD"),
                   .made_for = read_line_file(git_dir + kOwnerFile),
                   .half_made = read_line_file(git_dir + "/locked") == "initializing",
                   .has_folder = is_folder(path)};
}

// A folder without the right to write keeps what is in it.
void make_writable(const fs::path& folder) {
  std::error_code ignored;
  fs::permissions(folder, fs::perms::owner_all, fs::perm_options::add, ignored);
  for (const auto& inside : fs::directory_iterator(folder, ignored))
    if (inside.symlink_status(ignored).type() == fs::file_type::directory) make_writable(inside.path());
}

}  // namespace

std::string canonical_path(const std::string& path) {
  std::error_code error;
  fs::path found = fs::weakly_canonical(path, error);
  if (error) found = fs::path(path).lexically_normal();
  std::string out = found.string();
  while (out.size() > 1 && out.ends_with('/')) out.pop_back();
  return out;
}

std::string read_line_file(const std::string& path) {
  std::error_code ignored;
  if (!fs::is_regular_file(path, ignored)) return "";
  std::ifstream file(path, std::ios::binary);
  std::string text(kLineFileMax, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  while (text.ends_with('\n') || text.ends_with('\r')) text.pop_back();
  return text;
}

GitPlace repository_place(const std::string& folder) {
  check_path(folder);
  const std::string canonical = canonical_path(folder);
  const std::string git_dir = git_dir_of(canonical), shared = read_line_file(git_dir + "/commondir");
  const std::string common = shared.empty() ? git_dir : joined(git_dir, shared);
  if (!is_there(common + "/HEAD") || !is_folder(common + "/objects") || !is_folder(common + "/refs"))
    throw skald::Refused("NO_REPOSITORY", "there is no git repository at " + folder +
                                              "; register it again with the folder where it lies now");
  return {.folder = canonical, .git_dir = common, .common = common};
}

std::optional<TreeEntry> find_tree_entry(const GitPlace& repository, const std::string& path) {
  const std::string all = repository.common + "/worktrees";
  // Git names it after the folder, unless that name is taken.
  if (auto entry = read_entry(all + "/" + fs::path(path).filename().string(), path)) return entry;
  std::error_code ignored;
  for (const auto& inside : fs::directory_iterator(all, ignored))
    if (auto entry = read_entry(inside.path().string(), path)) return entry;
  return std::nullopt;
}

void mark_tree_entry(const std::string& git_dir, const std::string& branch) {
  const std::string path = git_dir + kOwnerFile, fresh = path + ".new";
  std::ofstream file(fresh, std::ios::binary | std::ios::trunc);
  file << branch << '\n';
  file.close();
  std::error_code error;
  if (file) fs::rename(fresh, path, error);
  if (!file || error)
    throw skald::Unavailable("DISK_FULL", "cannot write " + path + "; make room, or look at its rights");
}

GitPlace tree_place(const Tree& tree) {
  check_path(tree.path);
  check_branch(tree.branch);
  const GitPlace repository = repository_place(tree.repository);
  const std::string path = canonical_path(tree.path);
  const auto entry = find_tree_entry(repository, path);
  if (!entry || entry->made_for != tree.branch || !entry->has_folder)
    throw skald::Refused("NO_TREE",
                         "there is no worktree of branch '" + tree.branch + "' at " + tree.path + "; make it first");
  return {.folder = path, .git_dir = entry->git_dir, .common = repository.common, .work_tree = path};
}

GitPlace somebodys_place(const GitPlace& repository, const std::string& folder) {
  return {.folder = folder,
          .git_dir = git_dir_of(folder),
          .common = repository.common,
          .work_tree = folder,
          .somebodys = true};
}

bool is_amid_operation(const std::string& git_dir) {
  for (const char* name : kOperationMarks)
    if (is_there(git_dir + name)) return true;
  return false;
}

void forget_operation(const std::string& git_dir) {
  for (const char* name : kOperationMarks) remove_folder(git_dir + name);
  for (const char* name : kOperationRests) remove_folder(git_dir + name);
}

void remove_folder(const std::string& path) {
  std::error_code error;
  fs::remove_all(path, error);
  if (!error) return;
  make_writable(path);
  fs::remove_all(path, error);
  if (error)
    throw skald::Unavailable(
        "FOLDER_STAYS", "cannot remove " + path + " (" + error.message() + "); remove what keeps it, then try again");
}

}  // namespace agentflow
