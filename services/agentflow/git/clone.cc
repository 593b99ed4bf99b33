#include "agentflow/git/clone.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "agentflow/git/layout.h"
#include "agentflow/git/lock.h"
#include "skald/error.h"

namespace agentflow {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void throw_no_room(const std::string& folder) {
  throw skald::Unavailable("FOLDER_STAYS", "cannot make or rename " + folder + ": " + std::strerror(errno));
}

// The folder in which a clone is made. Locked while this lives; gone at its end.
class CloningFolder {
 public:
  CloningFolder(const GitProgram& git, std::string path) : path_(std::move(path)) {
    const skald::Instant end = git.env().clock.steady() + git.timeout();
    for (;;) {
      if (mkdir(path_.c_str(), 0700) != 0 && errno != EEXIST) throw_no_room(path_);
      folder_ = open(path_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
      if (folder_ < 0 && errno != ENOENT) throw_no_room(path_);
      if (folder_ >= 0 && locked_and_there(git.env().clock, end)) return;
      close_folder();
    }
  }
  CloningFolder(const CloningFolder&) = delete;
  CloningFolder& operator=(const CloningFolder&) = delete;
  ~CloningFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    close_folder();
  }
  std::string inside() const { return path_ + "/clone"; }

 private:
  // Who held it before us has removed it at its end.
  bool locked_and_there(const skald::Clock& clock, skald::Instant end) {
    try {
      lock_file(clock, folder_, path_, end);
    } catch (...) {
      close_folder();
      throw;
    }
    struct stat ours{}, there{};
    return fstat(folder_, &ours) == 0 && stat(path_.c_str(), &there) == 0 && ours.st_ino == there.st_ino;
  }
  void close_folder() {
    if (folder_ >= 0) close(folder_);
    folder_ = -1;
  }

  std::string path_;
  int folder_ = -1;
};

bool is_empty_or_absent(const std::string& path) {
  std::error_code ignored;
  const auto kind = fs::symlink_status(path, ignored).type();
  return kind == fs::file_type::not_found || (kind == fs::file_type::directory && fs::is_empty(path, ignored));
}

void check_is_clone_of(const GitProgram& git, const std::string& remote, const std::string& path) {
  try {
    const auto origin = git.run(repository_place(path), {"config", "--get", "remote.origin.url"});
    if (origin.ok() && origin.out == remote + "\n") return;
  } catch (const skald::Refused&) {
    // No repository: something else lies there.
  }
  throw skald::Refused("TREE_TAKEN",
                       "there is something else at " + path + "; move it away, or clone to another folder");
}

}  // namespace

void clone_git_repository(const GitProgram& git, const std::string& remote, const std::string& path) {
  const std::string target = canonical_path(path);
  if (!is_empty_or_absent(target)) return check_is_clone_of(git, remote, target);
  const fs::path parent = fs::path(target).parent_path();
  std::error_code error;
  fs::create_directories(parent, error);
  const CloningFolder folder(git, (parent / ("." + fs::path(target).filename().string() + ".skald-clone")).string());
  if (!is_empty_or_absent(target)) return check_is_clone_of(git, remote, target);  // by whom we have waited for
  remove_folder(folder.inside());
  GitWords words = {"clone", "--quiet", "--no-local"};
  // Git distrusts folders of other users; who registers one by its path trusts it.
  if (remote.starts_with('/')) words.insert(words.end(), {"--upload-pack", "git -c 'safe.directory=*' upload-pack"});
  words.insert(words.end(), {"--", remote, folder.inside()});
  const auto cloned = git.run_clone(words);
  if (!cloned.ok()) throw_git_failed("clone", cloned);
  if (rename(folder.inside().c_str(), target.c_str()) != 0) throw_no_room(target);
}

}  // namespace agentflow
