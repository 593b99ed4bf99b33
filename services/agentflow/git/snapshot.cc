#include "agentflow/git/snapshot.h"

#include <unistd.h>

#include <filesystem>

#include "skald/id.h"

namespace agentflow {
namespace {

constexpr int kTriesMax = 4;

// A copy of the worktree's index, so that only what has changed since is read; gone at its end.
class ScratchIndex {
 public:
  ScratchIndex(const skald::Env& env, const std::string& git_dir)
      : path_(git_dir + "/skald-index-" + skald::make_id(env.clock.now(), env.random)) {
    std::error_code ignored;  // a worktree may have no index, and a scratch one may be empty
    std::filesystem::copy_file(git_dir + "/index", path_, ignored);
    // Its time stays: by it git knows the files that may have changed in the second in which the index was written, and
    // reads them instead of trusting their size.
    const auto written = std::filesystem::last_write_time(git_dir + "/index", ignored);
    if (!ignored) std::filesystem::last_write_time(path_, written, ignored);
  }
  ScratchIndex(const ScratchIndex&) = delete;
  ScratchIndex& operator=(const ScratchIndex&) = delete;
  ~ScratchIndex() {
    unlink(path_.c_str());
    unlink((path_ + ".lock").c_str());
  }
  GitInput input() const {
    GitInput input;
    set_variable(input.variables, "GIT_INDEX_FILE=" + path_);
    return input;
  }

 private:
  std::string path_;
};

// Words that leave out each repository without a commit that git complains about.
GitWords leaving_out_unborn(std::string_view complaints) {
  constexpr std::string_view kBefore = "error: '", kAfter = "/' does not have a commit checked out";
  GitWords words;
  for (std::size_t end; (end = complaints.find(kAfter)) != complaints.npos;) {
    const std::size_t begin = complaints.substr(0, end).rfind(kBefore);
    if (begin != complaints.npos)
      words.push_back(":(top,exclude,literal)" +
                      std::string(complaints.substr(begin + kBefore.size(), end - begin - kBefore.size())));
    complaints.remove_prefix(end + kAfter.size());
  }
  return words;
}

}  // namespace

// An agent may be at work: a file that goes away while git looks at it ends git, and the next look does without it.
void add_everything(const GitProgram& git, const GitPlace& place, const GitInput& input) {
  const GitWords all = {"add", "--all", "--ignore-errors", "--", ":(top)"};
  GitWords words = all;
  for (int tries = 1;; ++tries) {
    const auto added = git.run(place, words, input);
    if (added.ok()) return;
    const GitWords unborn = leaving_out_unborn(added.err);
    if (tries == kTriesMax) throw_git_failed("add", added);
    if (unborn.empty()) continue;
    words = all;
    words.insert(words.end(), unborn.begin(), unborn.end());
  }
}

std::string snapshot_tree(const GitProgram& git, const GitPlace& place) {
  const ScratchIndex index(git.env(), place.git_dir);
  add_everything(git, place, index.input());
  return git.ask(place, {"write-tree"}, index.input());
}

}  // namespace agentflow
