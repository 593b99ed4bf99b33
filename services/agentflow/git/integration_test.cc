#include "agentflow/git/fixture.h"

namespace agentflow {
namespace {

class GitIntegrationTest : public GitTest {
 protected:
  // The branch changes b.txt, main c.txt: both can be had.
  GitIntegrationTest() {
    add(tree_);
    write(tree_.path + "/b.txt", "b\n");
    commit_all(tree_.path, "Work one");
    write(tree_.path + "/b.txt", "b\nb\n");
    branch_ = commit_all(tree_.path, "Work two");
    write(repository_ + "/c.txt", "c\n");
    target_ = commit_all(repository_, "Of others");
  }
  void conflict() {
    write(tree_.path + "/a.txt", "ours\n");
    branch_ = commit_all(tree_.path, "Work three");
    write(repository_ + "/a.txt", "theirs\n");
    target_ = commit_all(repository_, "Of others again");
  }
  static Integration by(IntegrationMode mode, const std::string& target = "main") {
    return {.mode = mode, .target = target, .message = "Bring it home", .id = "flow-1.1"};
  }
  std::string files(const std::string& commit) { return git(repository_, {"ls-tree", "--name-only", commit}); }
  std::string subjects(const std::string& commit) {
    return git(repository_, {"log", "--format=%s", "--first-parent", commit});
  }
  std::string parents(const std::string& commit) { return git(repository_, {"log", "-1", "--format=%P", commit}); }
  std::string integrate(IntegrationMode mode) {
    trial_ = repositories_->try_integration(tree_, by(mode));
    repositories_->integrate(tree_, by(mode), trial_);
    return trial_.after;
  }

  std::string branch_, target_;
  IntegrationTrial trial_;
};

TEST_F(GitIntegrationTest, ATrialMovesNothingAndIsTheSameEveryTime) {
  for (const IntegrationMode mode : {IntegrationMode::merge, IntegrationMode::rebase, IntegrationMode::squash}) {
    const IntegrationTrial first = repositories_->try_integration(tree_, by(mode));
    EXPECT_EQ(first.before, target_);
    EXPECT_EQ(first.conflicts, std::vector<std::string>{});
    EXPECT_EQ(repositories_->try_integration(tree_, by(mode)).after, first.after);
  }
  EXPECT_EQ(main_commit(), target_);
  EXPECT_EQ(git(repository_, {"rev-parse", "flow-1"}), branch_);
  EXPECT_EQ(status(repository_), "");
}

TEST_F(GitIntegrationTest, AMergeIsACommitWithBothParentsAndTheMessage) {
  const std::string after = integrate(IntegrationMode::merge);
  EXPECT_EQ(main_commit(), after);
  EXPECT_EQ(parents(after), target_ + " " + branch_);
  EXPECT_EQ(git(repository_, {"log", "-1", "--format=%B", after}), "Bring it home\n\nSkald-Integration: flow-1.1\n");
  EXPECT_EQ(files(after), "a.txt\nb.txt\nc.txt");
}

TEST_F(GitIntegrationTest, ASquashIsOneCommitOnTheTarget) {
  const std::string after = integrate(IntegrationMode::squash);
  EXPECT_EQ(parents(after), target_);
  EXPECT_EQ(files(after), "a.txt\nb.txt\nc.txt");
  EXPECT_EQ(repositories_->try_integration(tree_, by(IntegrationMode::squash)).after, after)
      << "nothing is left to bring";
}

TEST_F(GitIntegrationTest, ARebasePutsEachCommitOnTheTargetWithItsAuthorAndMessage) {
  const std::string after = integrate(IntegrationMode::rebase);
  EXPECT_EQ(subjects(after), "Work two\nWork one\nOf others\nFirst");
  EXPECT_EQ(git(repository_, {"log", "-1", "--format=%an %at", after}),
            git(repository_, {"log", "-1", "--format=%an %at", branch_}));
  EXPECT_EQ(git(repository_, {"show", after + ":b.txt"}), "b\nb");
  EXPECT_EQ(git(repository_, {"rev-parse", "flow-1"}), branch_) << "the workflow's branch stays";
}

TEST_F(GitIntegrationTest, ARebaseComesToTheSameTreeAsGitsOwn) {
  git(repository_, {"cherry-pick", branch_ + "^"});
  write(repository_ + "/a.txt", "zero\none\ntwo\nthree\n");
  commit_all(repository_, "Above");
  write(tree_.path + "/a.txt", "one\ntwo\nthree\nfour\n");
  commit_all(tree_.path, "Below");
  const std::string after = repositories_->try_integration(tree_, by(IntegrationMode::rebase)).after;
  git(repository_, {"branch", "copy", "flow-1"});
  git(repository_, {"worktree", "add", "-q", folder_ + "/copy", "copy"});
  git(folder_ + "/copy", {"rebase", "-q", "main"});
  EXPECT_EQ(subjects(after), subjects("copy"));
  EXPECT_EQ(git(repository_, {"rev-parse", after + "^{tree}"}), git(repository_, {"rev-parse", "copy^{tree}"}));
}

TEST_F(GitIntegrationTest, ACommitThatTheTargetHasTakenAndChangedSinceIsNotRebasedAgain) {
  git(repository_, {"cherry-pick", branch_ + "^"});
  git(repository_, {"cherry-pick", branch_});
  write(repository_ + "/b.txt", "changed since\n");
  target_ = commit_all(repository_, "Changed since");
  const IntegrationTrial trial = repositories_->try_integration(tree_, by(IntegrationMode::rebase));
  EXPECT_EQ(trial.conflicts, std::vector<std::string>{});
  EXPECT_EQ(trial.after, target_);
}

TEST_F(GitIntegrationTest, ARebaseOntoWhereItBeganIsAFastForward) {
  git(repository_, {"reset", "-q", "--hard", "HEAD^"});
  EXPECT_EQ(integrate(IntegrationMode::rebase), branch_);
  EXPECT_EQ(main_commit(), branch_);
}

TEST_F(GitIntegrationTest, ConflictsAreNamedAndNothingIsMoved) {
  conflict();
  for (const IntegrationMode mode : {IntegrationMode::merge, IntegrationMode::rebase, IntegrationMode::squash}) {
    const IntegrationTrial trial = repositories_->try_integration(tree_, by(mode));
    EXPECT_EQ(trial.conflicts, std::vector<std::string>{"a.txt"});
    EXPECT_EQ(trial.after, "");
    EXPECT_EQ(code_of([&] { repositories_->integrate(tree_, by(mode), trial); }), "BAD_COMMIT");
  }
  EXPECT_EQ(main_commit(), target_);
}

TEST_F(GitIntegrationTest, TheModeBranchLeavesItUnderANameAndCanBeTakenBack) {
  const Integration named = by(IntegrationMode::branch, "agents/result");
  const IntegrationTrial trial = repositories_->try_integration(tree_, named);
  EXPECT_EQ(trial.before, "");
  repositories_->integrate(tree_, named, trial);
  repositories_->integrate(tree_, named, trial);
  EXPECT_EQ(git(repository_, {"rev-parse", "agents/result"}), branch_);
  repositories_->undo_integration(tree_, named, trial);
  repositories_->undo_integration(tree_, named, trial);
  EXPECT_FALSE(has_ref("refs/heads/agents/result"));
  EXPECT_EQ(code_of([&] { repositories_->try_integration(tree_, by(IntegrationMode::branch)); }), "BRANCH_TAKEN");
}

TEST_F(GitIntegrationTest, ACleanCheckoutOfTheTargetFollowsThereAndBackAndKeepsUntrackedFiles) {
  write(repository_ + "/untracked.txt", "mine\n");
  integrate(IntegrationMode::merge);
  EXPECT_EQ(read(repository_ + "/b.txt"), "b\nb\n");
  EXPECT_EQ(status(repository_), "?? untracked.txt");
  repositories_->integrate(tree_, by(IntegrationMode::merge), trial_);
  repositories_->undo_integration(tree_, by(IntegrationMode::merge), trial_);
  EXPECT_EQ(main_commit(), target_);
  EXPECT_FALSE(exists(repository_ + "/b.txt"));
  EXPECT_EQ(status(repository_), "?? untracked.txt");
  repositories_->undo_integration(tree_, by(IntegrationMode::merge), trial_);
}

TEST_F(GitIntegrationTest, ACheckoutWithChangesKeepsThemAndTheTargetStays) {
  write(repository_ + "/c.txt", "at work\n");
  EXPECT_EQ(code_of([&] { integrate(IntegrationMode::merge); }), "TARGET_IN_USE");
  git(repository_, {"add", "-A"});
  EXPECT_EQ(code_of([&] { integrate(IntegrationMode::merge); }), "TARGET_IN_USE");
  EXPECT_EQ(main_commit(), target_);
  EXPECT_EQ(read(repository_ + "/c.txt"), "at work\n");
}

TEST_F(GitIntegrationTest, AnUntrackedFileInTheWayIsNotOverwritten) {
  write(repository_ + "/b.txt", "mine\n");
  EXPECT_EQ(code_of([&] { integrate(IntegrationMode::merge); }), "TARGET_IN_USE");
  EXPECT_EQ(read(repository_ + "/b.txt"), "mine\n");
  EXPECT_EQ(main_commit(), target_);
}

TEST_F(GitIntegrationTest, ATargetThatIsBeingRebasedOrMergedIsInUse) {
  conflict();
  git(repository_, {"checkout", "-q", "-b", "feature", "main~2"});
  write(repository_ + "/a.txt", "feature\n");
  commit_all(repository_, "Feature");
  EXPECT_FALSE(try_git(repository_, {"rebase", "-q", "main"}).ok());
  const Integration to_feature = by(IntegrationMode::merge, "feature");
  const IntegrationTrial trial{.before = git(repository_, {"rev-parse", "feature"}), .after = target_, .conflicts = {}};
  EXPECT_EQ(code_of([&] { repositories_->integrate(tree_, to_feature, trial); }), "TARGET_IN_USE");
}

TEST_F(GitIntegrationTest, ATargetThatHasMovedOnIsNotTouched) {
  trial_ = repositories_->try_integration(tree_, by(IntegrationMode::merge));
  write(repository_ + "/d.txt", "d\n");
  const std::string moved = commit_all(repository_, "Meanwhile");
  EXPECT_EQ(code_of([&] { repositories_->integrate(tree_, by(IntegrationMode::merge), trial_); }), "TARGET_MOVED");
  integrate(IntegrationMode::merge);
  write(repository_ + "/e.txt", "e\n");
  const std::string on = commit_all(repository_, "Since then");
  EXPECT_EQ(code_of([&] { repositories_->undo_integration(tree_, by(IntegrationMode::merge), trial_); }),
            "TARGET_MOVED");
  EXPECT_EQ(main_commit(), on);
}

TEST_F(GitIntegrationTest, ACheckoutThatACrashKeptFromFollowingDoesSoWhenRepeated) {
  trial_ = repositories_->try_integration(tree_, by(IntegrationMode::merge));
  git(repository_, {"update-ref", "refs/heads/main", trial_.after, trial_.before});
  EXPECT_NE(status(repository_), "");
  repositories_->integrate(tree_, by(IntegrationMode::merge), trial_);
  EXPECT_EQ(status(repository_), "");
  EXPECT_EQ(read(repository_ + "/b.txt"), "b\nb\n");
  write(repository_ + "/b.txt", "at work\n");
  repositories_->integrate(tree_, by(IntegrationMode::merge), trial_);
  EXPECT_EQ(read(repository_ + "/b.txt"), "at work\n") << "who has followed and works on is left alone";
}

TEST_F(GitIntegrationTest, WhatWasBroughtHomeAndPushedUponIsFoundDoneAndNotTakenBackOverSomebodysHead) {
  trial_ = repositories_->try_integration(tree_, by(IntegrationMode::merge));
  repositories_->integrate(tree_, by(IntegrationMode::merge), trial_);
  write(repository_ + "/pushed.txt", "pushed\n");
  const std::string pushed = commit_all(repository_, "Pushed");
  repositories_->integrate(tree_, by(IntegrationMode::merge), trial_);
  EXPECT_EQ(git(repository_, {"rev-parse", "main"}), pushed);
  EXPECT_EQ(code_of([&] { repositories_->undo_integration(tree_, by(IntegrationMode::merge), trial_); }),
            "TARGET_MOVED");
}

TEST_F(GitIntegrationTest, WhatNeverCameHomeHasNothingToBeTakenBack) {
  trial_ = repositories_->try_integration(tree_, by(IntegrationMode::merge));
  write(repository_ + "/pushed.txt", "pushed\n");
  const std::string pushed = commit_all(repository_, "Pushed");
  repositories_->undo_integration(tree_, by(IntegrationMode::merge), trial_);
  EXPECT_EQ(git(repository_, {"rev-parse", "main"}), pushed);
  EXPECT_EQ(code_of([&] { repositories_->integrate(tree_, by(IntegrationMode::merge), trial_); }), "TARGET_MOVED");
}

TEST_F(GitIntegrationTest, ABareRepositoryIsIntegratedWithoutACheckout) {
  const std::string bare = folder_ + "/bare.git";
  git(folder_, {"clone", "-q", "--bare", repository_, bare});
  const Tree inside{.repository = bare, .path = folder_ + "/trees/of-bare", .branch = "flow-2"};
  repositories_->add_tree(inside, target_);
  write(inside.path + "/d.txt", "d\n");
  repositories_->commit_rest(inside, "Rest");
  const IntegrationTrial trial = repositories_->try_integration(inside, by(IntegrationMode::merge));
  repositories_->integrate(inside, by(IntegrationMode::merge), trial);
  EXPECT_EQ(git(bare, {"rev-parse", "main"}), trial.after);
}

TEST_F(GitIntegrationTest, HistoriesWithNothingSharedAreRefusedWithGitsWords) {
  git(repository_, {"checkout", "-q", "--orphan", "island"});
  commit_all(repository_, "Island");
  git(repository_, {"checkout", "-q", "main"});
  EXPECT_EQ(code_of([&] { repositories_->try_integration(tree_, by(IntegrationMode::merge, "island")); }),
            "GIT_FAILED");
}

TEST_F(GitIntegrationTest, ATargetThatIsNotThereOrIsTheBranchItselfIsRefused) {
  EXPECT_EQ(code_of([&] { repositories_->try_integration(tree_, by(IntegrationMode::merge, "none")); }), "NO_SUCH_REF");
  EXPECT_EQ(code_of([&] { repositories_->try_integration(tree_, by(IntegrationMode::merge, "flow-1")); }),
            "BAD_BRANCH");
  EXPECT_EQ(code_of([&] { repositories_->try_integration(tree_, by(IntegrationMode::merge, "--all")); }), "BAD_BRANCH");
}

TEST_F(GitIntegrationTest, WhatIsNotCommittedIsCommittedToTheBranchAndAgainIsNothing) {
  write(tree_.path + "/rest.txt", "rest\n");
  std::filesystem::remove(tree_.path + "/a.txt");
  const std::string rest = repositories_->commit_rest(tree_, "The rest");
  EXPECT_EQ(parents(rest), branch_);
  EXPECT_EQ(files(rest), "b.txt\nrest.txt");
  EXPECT_EQ(status(tree_.path), "");
  EXPECT_EQ(repositories_->commit_rest(tree_, "The rest"), rest);
}

TEST_F(GitIntegrationTest, AWorktreeThatWentAheadOfItsBranchTakesItAlongAndOneThatLeftItIsRefused) {
  git(tree_.path, {"checkout", "-q", "-b", "own-idea"});
  write(tree_.path + "/idea.txt", "idea\n");
  const std::string ahead = commit_all(tree_.path, "Idea");
  EXPECT_EQ(repositories_->commit_rest(tree_, "The rest"), ahead);
  EXPECT_EQ(git(tree_.path, {"symbolic-ref", "HEAD"}), "refs/heads/flow-1");
  git(tree_.path, {"checkout", "-q", "--detach", target_});
  EXPECT_EQ(code_of([&] { repositories_->commit_rest(tree_, "The rest"); }), "BRANCH_LEFT");
}

}  // namespace
}  // namespace agentflow
