#include "agentflow/git/fixture.h"

namespace agentflow {
namespace {

class GitMergeCommitsTest : public GitTest {
 protected:
  GitMergeCommitsTest() {
    add(tree_);
    write(at("a.txt"), "1\n2\n3\n4\n5\n6\n7\n");
    base_ = repositories_->take_checkpoint(tree_, "base");
  }
  std::string at(const std::string& name) { return tree_.path + "/" + name; }
  std::string taken(const std::string& name, const std::string& file, const std::string& text) {
    repositories_->restore_checkpoint(tree_, base_);
    write(at(file), text);
    return repositories_->take_checkpoint(tree_, name);
  }
  MergedCommit merged(const std::string& ours, const std::string& theirs) {
    return repositories_->merge_commits(repository_, base_, ours, theirs);
  }

  std::string base_;
};

TEST_F(GitMergeCommitsTest, ChangesThatDoNotTouchComeTogetherOnTheParentsOfOurs) {
  const std::string ours = taken("ours", "a.txt", "one\n2\n3\n4\n5\n6\n7\n");
  const std::string theirs = taken("theirs", "a.txt", "1\n2\n3\n4\n5\n6\nseven\n");
  const MergedCommit merge = merged(ours, theirs);
  EXPECT_TRUE(merge.conflicts.empty());
  EXPECT_EQ(git(repository_, {"show", merge.commit + ":a.txt"}), "one\n2\n3\n4\n5\n6\nseven");
  EXPECT_EQ(git(repository_, {"rev-parse", merge.commit + "^"}), main_commit());
  EXPECT_EQ(merged(ours, theirs).commit, merge.commit);
}

TEST_F(GitMergeCommitsTest, ConflictsAreNamedAndNothingMoves) {
  const std::string ours = taken("ours", "a.txt", "ours\n"), theirs = taken("theirs", "a.txt", "theirs\n");
  const std::string refs = git(repository_, {"for-each-ref"});
  const MergedCommit merge = merged(ours, theirs);
  EXPECT_EQ(merge.commit, "");
  EXPECT_EQ(merge.conflicts, std::vector<std::string>{"a.txt"});
  EXPECT_EQ(git(repository_, {"for-each-ref"}), refs);
  EXPECT_EQ(read(at("a.txt")), "theirs\n");
}

TEST_F(GitMergeCommitsTest, WhatTheOthersHaveCommittedMeanwhileIsNoMatter) {
  const std::string ours = taken("ours", "ours.txt", "ours\n");
  repositories_->restore_checkpoint(tree_, base_);
  write(at("theirs.txt"), "theirs\n");
  std::filesystem::remove(at("a.txt"));
  commit_all(tree_.path, "Theirs");
  const MergedCommit merge = merged(ours, repositories_->take_checkpoint(tree_, "theirs"));
  EXPECT_EQ(git(repository_, {"ls-tree", "-r", "--name-only", merge.commit}), "ours.txt\ntheirs.txt");
  EXPECT_EQ(git(repository_, {"rev-parse", merge.commit + "^"}), main_commit());
}

TEST_F(GitMergeCommitsTest, WhereTheOthersChangedNothingOrTheSameItIsOurs) {
  const std::string ours = taken("ours", "a.txt", "same\n");
  EXPECT_EQ(merged(ours, base_).commit, ours);
  EXPECT_EQ(merged(ours, taken("theirs", "a.txt", "same\n")).commit, ours);
}

TEST_F(GitMergeCommitsTest, CommitsThatAreNoneAreRefused) {
  EXPECT_EQ(code_of([&] { merged("HEAD", base_); }), "BAD_COMMIT");
  EXPECT_EQ(code_of([&] { merged(base_, std::string(40, '1')); }), "NO_SUCH_REF");
}

}  // namespace
}  // namespace agentflow
