#include <sys/stat.h>

#include <thread>

#include "agentflow/git/fixture.h"

namespace agentflow {
namespace {

class GitTreesTest : public GitTest {
 protected:
  std::string entry(const std::string& name) { return repository_ + "/.git/worktrees/" + name; }
};

TEST_F(GitTreesTest, ATreeIsANewBranchAtItsBaseCheckedOutAtItsPath) {
  add(tree_);
  EXPECT_EQ(read(tree_.path + "/a.txt"), "one\ntwo\nthree\n");
  EXPECT_EQ(git(tree_.path, {"symbolic-ref", "HEAD"}), "refs/heads/flow-1");
  EXPECT_EQ(head(tree_.path), main_commit());
  EXPECT_TRUE(repositories_->has_tree(tree_));
  EXPECT_EQ(status(tree_.path), "");
}

TEST_F(GitTreesTest, AddingATreeAgainLeavesWhatIsInIt) {
  add(tree_);
  write(tree_.path + "/new.txt", "work\n");
  const std::string base = head(tree_.path), later = commit_all(tree_.path, "Work");
  write(tree_.path + "/more.txt", "more\n");
  repositories_->add_tree(tree_, base);
  EXPECT_EQ(head(tree_.path), later);
  EXPECT_EQ(read(tree_.path + "/more.txt"), "more\n");
}

TEST_F(GitTreesTest, RemovingATreeTakesFilesRegistrationAndBranchAndAgainIsNothing) {
  add(tree_);
  write(tree_.path + "/new.txt", "work\n");
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(exists(tree_.path));
  EXPECT_FALSE(has_ref("refs/heads/flow-1"));
  EXPECT_FALSE(exists(entry("flow-1")));
  EXPECT_EQ(git(repository_, {"for-each-ref", "--format=%(refname)"}), "refs/heads/main");
  EXPECT_FALSE(repositories_->has_tree(tree_));
  repositories_->remove_tree(tree_);
  add(tree_);
  EXPECT_TRUE(repositories_->has_tree(tree_));
}

TEST_F(GitTreesTest, WriteProtectedFoldersOfAnAgentAreRemovedToo) {
  add(tree_);
  write(tree_.path + "/cache/deep/file", "x");
  chmod((tree_.path + "/cache/deep").c_str(), 0500);
  chmod((tree_.path + "/cache").c_str(), 0500);
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(exists(tree_.path));
}

TEST_F(GitTreesTest, ALinkOutOfTheTreeIsRemovedAndNotWhatItPointsTo) {
  add(tree_);
  write(folder_ + "/outside/kept.txt", "kept");
  std::filesystem::create_symlink(folder_ + "/outside", tree_.path + "/link");
  repositories_->remove_tree(tree_);
  EXPECT_EQ(read(folder_ + "/outside/kept.txt"), "kept");
}

TEST_F(GitTreesTest, ABranchOfSomebodyElseIsTakenEvenAtTheSameCommitAndIsNeverRemoved) {
  git(repository_, {"branch", "flow-1"});
  EXPECT_EQ(code_of([&] { add(tree_); }), "BRANCH_TAKEN");
  repositories_->remove_tree(tree_);
  EXPECT_TRUE(has_ref("refs/heads/flow-1"));
}

TEST_F(GitTreesTest, AFolderOfSomebodyElseIsTakenAndIsNeverRemoved) {
  write(tree_.path + "/theirs.txt", "theirs");
  EXPECT_EQ(code_of([&] { add(tree_); }), "TREE_TAKEN");
  repositories_->remove_tree(tree_);
  EXPECT_EQ(read(tree_.path + "/theirs.txt"), "theirs");
  EXPECT_FALSE(has_ref("refs/heads/flow-1")) << "a tree that is refused leaves no branch";
}

TEST_F(GitTreesTest, AWorktreeThatAPersonMadeThereIsTaken) {
  git(repository_, {"worktree", "add", "-q", "-b", "theirs", tree_.path});
  EXPECT_EQ(code_of([&] { add(tree_); }), "TREE_TAKEN");
  repositories_->remove_tree(tree_);
  EXPECT_TRUE(exists(tree_.path + "/a.txt"));
}

TEST_F(GitTreesTest, ARegistrationOfAPersonWhoseFolderIsAwayIsLeftAlone) {
  git(repository_, {"worktree", "add", "-q", "-b", "theirs", tree_.path});
  std::filesystem::rename(tree_.path, folder_ + "/unmounted");
  EXPECT_EQ(code_of([&] { add(tree_); }), "TREE_TAKEN");
  EXPECT_TRUE(exists(entry("flow-1") + "/index"));
}

TEST_F(GitTreesTest, ABranchThatAPersonHasCheckedOutElsewhereStaysUntilTheyLeaveIt) {
  add(tree_);
  git(repository_, {"worktree", "add", "-q", "--force", folder_ + "/theirs", "flow-1"});
  EXPECT_EQ(code_of([&] { repositories_->remove_tree(tree_); }), "BRANCH_IN_USE");
  EXPECT_FALSE(exists(tree_.path));
  EXPECT_TRUE(has_ref("refs/heads/flow-1"));
  EXPECT_EQ(code_of([&] { repositories_->remove_tree(tree_); }), "BRANCH_IN_USE");
  git(folder_ + "/theirs", {"checkout", "-q", "--detach"});
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(has_ref("refs/heads/flow-1"));
}

TEST_F(GitTreesTest, AfterACrashWithTheBranchMadeAndNoWorktreeTheTreeIsMade) {
  add(tree_);
  std::filesystem::remove_all(tree_.path);
  std::filesystem::remove_all(entry("flow-1"));
  add(tree_);
  EXPECT_EQ(read(tree_.path + "/a.txt"), "one\ntwo\nthree\n");
  EXPECT_TRUE(repositories_->has_tree(tree_));
}

TEST_F(GitTreesTest, AfterACrashWithTheMarkMadeAndNoBranchTheTreeIsMadeAndCanBeRemoved) {
  git(repository_, {"update-ref", "refs/skald-trees/flow-1", main_commit()});
  add(tree_);
  EXPECT_TRUE(repositories_->has_tree(tree_));
  repositories_->remove_tree(tree_);
  git(repository_, {"update-ref", "refs/skald-trees/flow-1", main_commit()});
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(has_ref("refs/skald-trees/flow-1"));
}

TEST_F(GitTreesTest, AfterACrashInTheMiddleOfGitsCheckoutTheTreeIsMadeAnew) {
  add(tree_);
  std::filesystem::remove(entry("flow-1") + "/skald");
  write(entry("flow-1") + "/locked", "initializing\n");
  write(entry("flow-1") + "/HEAD", std::string(40, '0') + "\n");
  write(entry("flow-1") + "/index.lock", "");
  std::filesystem::remove(tree_.path + "/a.txt");
  EXPECT_FALSE(repositories_->has_tree(tree_)) << "half a tree is none";
  add(tree_);
  EXPECT_EQ(read(tree_.path + "/a.txt"), "one\ntwo\nthree\n");
  EXPECT_EQ(status(tree_.path), "");
  EXPECT_EQ(git(repository_, {"worktree", "list", "--porcelain"}).find("locked"), std::string::npos);
}

TEST_F(GitTreesTest, HalfATreeCanBeRemoved) {
  add(tree_);
  std::filesystem::remove(entry("flow-1") + "/skald");
  write(entry("flow-1") + "/locked", "initializing\n");
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(exists(tree_.path));
  EXPECT_FALSE(exists(entry("flow-1")));
  EXPECT_FALSE(has_ref("refs/heads/flow-1"));
}

TEST_F(GitTreesTest, ARegistrationThatWasBeingRemovedAtACrashIsRemovedByTheNextCall) {
  add(tree_);
  std::filesystem::remove_all(tree_.path);
  const std::string removed = repository_ + "/.git/skald-removed-flow-1";
  std::filesystem::rename(entry("flow-1"), removed);
  std::filesystem::remove(removed + "/gitdir");
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(exists(removed));
  EXPECT_FALSE(has_ref("refs/heads/flow-1"));
}

TEST_F(GitTreesTest, ATreeWhoseFolderIsGoneIsMadeAgainWithTheCommitsOfItsBranch) {
  add(tree_);
  const std::string base = head(tree_.path);
  write(tree_.path + "/new.txt", "work\n");
  const std::string later = commit_all(tree_.path, "Work");
  std::filesystem::remove_all(tree_.path);
  EXPECT_FALSE(repositories_->has_tree(tree_));
  repositories_->add_tree(tree_, base);
  EXPECT_EQ(head(tree_.path), later);
}

TEST_F(GitTreesTest, AFolderWhoseRegistrationIsGoneIsOursByItsGitFile) {
  add(tree_);
  std::filesystem::remove_all(entry("flow-1"));
  add(tree_);
  EXPECT_EQ(status(tree_.path), "");
  std::filesystem::remove_all(entry("flow-1"));
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(exists(tree_.path));
}

TEST_F(GitTreesTest, AnAgentThatRewritesItsGitFileLeadsUsNowhere) {
  const std::string victim = make_repository("victim");
  add(tree_);
  write(tree_.path + "/.git", "gitdir: " + victim + "/.git\n");
  write(tree_.path + "/b.txt", "b");
  repositories_->take_checkpoint(tree_, "one");
  EXPECT_TRUE(has_ref("refs/skald/one"));
  EXPECT_EQ(git(victim, {"for-each-ref", "--format=%(refname)"}), "refs/heads/main");
  repositories_->remove_tree(tree_);
  EXPECT_FALSE(exists(tree_.path));
  EXPECT_TRUE(exists(victim + "/a.txt"));
}

TEST_F(GitTreesTest, TwoThreadsAddTreesToOneRepositoryAtOnceAndNoneFails) {
  const std::string base = main_commit();
  std::vector<std::string> failures(2);
  const auto add_some = [&](std::size_t which) {
    try {
      const auto own = git_repositories(env_, std::chrono::seconds(30));
      for (int i = 0; i < 8; ++i)
        (i % 2 ? *own : *repositories_).add_tree(tree("t" + std::to_string(which) + "-" + std::to_string(i)), base);
    } catch (const std::exception& error) {
      failures[which] = error.what();
    }
  };
  std::thread first(add_some, 0), second(add_some, 1);
  first.join();
  second.join();
  EXPECT_EQ(failures, (std::vector<std::string>{"", ""}));
  for (int i = 0; i < 16; ++i)
    EXPECT_TRUE(repositories_->has_tree(tree("t" + std::to_string(i / 8) + "-" + std::to_string(i % 8))));
}

TEST_F(GitTreesTest, HooksOfARepositoryAreNotRun) {
  const std::string hook = repository_ + "/.git/hooks/post-checkout", sign = folder_ + "/hook-ran";
  write(hook, "#!/bin/sh\ntouch '" + sign + "'\n");
  chmod(hook.c_str(), 0755);
  add(tree_);
  EXPECT_FALSE(exists(sign));
}

TEST_F(GitTreesTest, BareAndShallowRepositoriesHaveTreesToo) {
  const std::string bare = folder_ + "/bare.git", shallow = folder_ + "/shallow";
  write(repository_ + "/b.txt", "b\n");
  commit_all(repository_, "Second");
  git(folder_, {"clone", "-q", "--bare", repository_, bare});
  git(folder_, {"clone", "-q", "--depth", "1", "file://" + repository_, shallow});
  for (const std::string& where : {bare, shallow}) {
    const Tree wanted{.repository = where, .path = folder_ + "/of" + std::to_string(where.size()), .branch = "flow-1"};
    repositories_->add_tree(wanted, main_commit());
    EXPECT_EQ(read(wanted.path + "/b.txt"), "b\n");
    write(wanted.path + "/c.txt", "c\n");
    EXPECT_NE(repositories_->take_checkpoint(wanted, "one"), "");
    repositories_->remove_tree(wanted);
    EXPECT_FALSE(exists(wanted.path));
  }
}

}  // namespace
}  // namespace agentflow
