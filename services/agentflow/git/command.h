// The git program, run so that nothing but the repository itself has a say: no configuration of a user or the machine,
// no hooks, no prompts, no pager, no signatures, a fixed author, English.
//
// A repository is named by GIT_DIR and never searched for: a folder inside of another repository is not mistaken for it,
// and an agent that rewrites the .git file of its worktree, or its folder in the repository, leads us nowhere.
//
// Thread safe.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "skald/env.h"
#include "skald/process.h"

namespace agentflow {

using GitWords = std::vector<std::string>;

// Where a git command works.
struct GitPlace {
  std::string folder;  // its working folder
  std::string git_dir;  // of the repository, or of one worktree
  std::string common;  // the folder that all worktrees share; the same as git_dir for the repository itself
  std::string work_tree = {};  // empty: the repository as such, no files
  bool somebodys = false;  // a person works there: locks are left alone
};

struct GitInput {
  std::string text = {};  // on standard input
  skald::Variables variables = {};  // besides those of every call
  std::size_t output_max = 64 << 20;
};

class GitProgram {
 public:
  GitProgram(const skald::Env& env, skald::Duration timeout);

  // Whatever it exits with. Unavailable: GIT_TIMEOUT, GIT_KILLED, and GIT_BUSY where another git holds a lock for all
  // of the timeout. Lock files that a killed git has left behind are removed.
  skald::CommandResult run(const GitPlace& place, const GitWords& words, const GitInput& input = {}) const;
  // What it prints, without the last line's end. Refused (GIT_FAILED) with its words where it exits with another code
  // than 0, or prints more than output_max.
  std::string ask(const GitPlace& place, const GitWords& words, const GitInput& input = {}) const;
  // Without a repository, with what a network needs of our own environment.
  skald::CommandResult run_clone(const GitWords& words) const;

  const skald::Env& env() const { return env_; }
  skald::Duration timeout() const { return timeout_; }

 private:
  skald::CommandResult run_once(const GitPlace* place, const GitWords& words, const GitInput& input) const;

  skald::Env env_;
  skald::Duration timeout_;
  skald::Variables variables_;
};

// NAME=VALUE.
void set_variable(skald::Variables& variables, std::string_view assignment);
// Always throws Refused (GIT_FAILED).
[[noreturn]] void throw_git_failed(std::string_view doing, const skald::CommandResult& result);
// The text without passwords in URLs, cut, and safe to show.
std::string git_words(std::string_view text);

}  // namespace agentflow
