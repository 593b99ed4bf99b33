// A folder for one test with real repositories in it, made by git itself.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "agentflow/repositories.h"
#include "skald/env.h"
#include "skald/error.h"
#include "skald/process.h"

namespace agentflow {

class GitTest : public ::testing::Test {
 protected:
  GitTest() {
    std::string name = (std::filesystem::temp_directory_path() / "skald-git.XXXXXX").string();
    folder_ = std::filesystem::canonical(mkdtemp(name.data())).string();
    repository_ = make_repository("repository");
    tree_ = tree("flow-1");
  }
  ~GitTest() override {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  // What git prints; a test fails where it says no.
  std::string git(const std::string& where, std::vector<std::string> words, const std::string& input = "") {
    const skald::CommandResult result = try_git(where, std::move(words), input);
    EXPECT_TRUE(result.ok()) << result.err;
    std::string out = result.out;
    if (out.ends_with('\n')) out.pop_back();
    return out;
  }
  skald::CommandResult try_git(const std::string& where, std::vector<std::string> words,
                               const std::string& input = "") {
    words.insert(words.begin(),
                 {"git", "-c", "user.name=A Person", "-c", "user.email=person@example.invalid", "-c",
                  "init.defaultBranch=main", "-c", "safe.directory=*", "-c", "protocol.file.allow=always"});
    return skald::run_command(*clock_, {.argv = std::move(words),
                                        .folder = where,
                                        .variables = {{"PATH", "/usr/bin:/bin"},
                                                      {"HOME", "/nonexistent"},
                                                      {"GIT_CONFIG_GLOBAL", "/dev/null"},
                                                      {"LC_ALL", "C"}},
                                        .input = input});
  }

  // With one commit on main: a file a.txt of three lines.
  std::string make_repository(const std::string& name) {
    const std::string path = folder_ + "/" + name;
    std::filesystem::create_directories(path);
    git(path, {"init", "-q"});
    write(path + "/a.txt", "one\ntwo\nthree\n");
    commit_all(path, "First");
    return path;
  }
  std::string commit_all(const std::string& where, const std::string& message) {
    git(where, {"add", "-A"});
    git(where, {"commit", "-q", "-m", message});
    return git(where, {"rev-parse", "HEAD"});
  }
  Tree tree(const std::string& name) {
    return {.repository = repository_, .path = folder_ + "/trees/" + name, .branch = name};
  }
  std::string head(const std::string& where) { return git(where, {"rev-parse", "HEAD"}); }
  std::string main_commit() { return git(repository_, {"rev-parse", "refs/heads/main"}); }
  bool has_ref(const std::string& ref) { return try_git(repository_, {"rev-parse", "--verify", "-q", ref}).ok(); }
  std::string status(const std::string& where) { return git(where, {"status", "--porcelain", "-uall"}); }

  static void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path, std::ios::binary) << text;
  }
  static std::string read(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
  }
  static bool exists(const std::string& path) {
    return std::filesystem::symlink_status(path).type() != std::filesystem::file_type::not_found;
  }
  // The worktree with a base at main.
  void add(const Tree& wanted) { repositories_->add_tree(wanted, main_commit()); }

  template <typename Call>
  static std::string code_of(Call call) {
    try {
      call();
    } catch (const skald::Error& error) {
      return error.code();
    }
    return "";
  }

  std::unique_ptr<skald::Clock> clock_ = skald::system_clock();
  std::unique_ptr<skald::Random> random_ = skald::system_random();
  skald::Env env_{*clock_, *random_, skald::silent_observer()};
  std::unique_ptr<Repositories> repositories_ = git_repositories(env_, std::chrono::seconds(30));
  std::string folder_, repository_;
  Tree tree_;
};

}  // namespace agentflow
