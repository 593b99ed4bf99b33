#include <fcntl.h>
#include <sys/stat.h>

#include "agentflow/git/fixture.h"

namespace agentflow {
namespace {

// Its seconds are hundredths of ours.
class FastClock final : public skald::Clock {
 public:
  skald::Time now() const override { return clock_->now(); }
  skald::Instant steady() const override { return begin_ + (clock_->steady() - begin_) * 100; }

 private:
  std::unique_ptr<skald::Clock> clock_ = skald::system_clock();
  skald::Instant begin_ = clock_->steady();
};

class GitCheckpointsTest : public GitTest {
 protected:
  GitCheckpointsTest() { add(tree_); }
  std::string at(const std::string& name) { return tree_.path + "/" + name; }
  std::string entry() { return repository_ + "/.git/worktrees/flow-1"; }
  std::string files_of(const std::string& commit) {
    return git(repository_, {"ls-tree", "-r", "--name-only", "-z", commit});
  }
};

TEST_F(GitCheckpointsTest, ACheckpointLeavesHeadIndexAndFilesUntouched) {
  write(at("staged.txt"), "staged\n");
  git(tree_.path, {"add", "staged.txt"});
  write(at("staged.txt"), "staged and changed\n");
  write(at("new.txt"), "new\n");
  std::filesystem::remove(at("a.txt"));
  const std::string status_before = status(tree_.path), index = read(entry() + "/index"),
                    head_before = head(tree_.path);
  const std::string commit = repositories_->take_checkpoint(tree_, "work-1");
  EXPECT_EQ(read(entry() + "/index"), index);
  EXPECT_EQ(status(tree_.path), status_before);
  EXPECT_EQ(head(tree_.path), head_before);
  EXPECT_EQ(git(repository_, {"rev-parse", commit + "^"}), head_before);
  EXPECT_EQ(git(repository_, {"show", commit + ":staged.txt"}), "staged and changed");
  EXPECT_EQ(files_of(commit), std::string("new.txt\0staged.txt\0", 19));
  for (const auto& file : std::filesystem::directory_iterator(entry()))
    EXPECT_EQ(file.path().string().find("skald-index"), std::string::npos) << "the scratch index is gone";
}

TEST_F(GitCheckpointsTest, AConfigurationThatAnAgentBringsIsNotRead) {
  const std::string brought = at("brought"), mark = folder_ + "/mark";
  std::filesystem::copy(repository_ + "/.git", brought, std::filesystem::copy_options::recursive);
  git(tree_.path, {"config", "--file", brought + "/config", "filter.brought.clean", "touch " + mark + "; cat"});
  write(at(".gitattributes"), "*.txt filter=brought\n");
  write(at("new.txt"), "new\n");
  write(entry() + "/commondir", brought + "\n");
  const std::string commit = repositories_->take_checkpoint(tree_, "work-1");
  EXPECT_FALSE(exists(mark));
  write(entry() + "/commondir", "../..\n");
  EXPECT_TRUE(has_ref(commit));
}

TEST_F(GitCheckpointsTest, ACheckpointTakenAgainIsTheFirst) {
  const std::string first = repositories_->take_checkpoint(tree_, "flow-1/work-1");
  write(at("later.txt"), "later\n");
  EXPECT_EQ(repositories_->take_checkpoint(tree_, "flow-1/work-1"), first);
  EXPECT_NE(repositories_->take_checkpoint(tree_, "flow-1/work-2"), first);
}

TEST_F(GitCheckpointsTest, AFileThatChangesInTheSecondOfItsCheckoutAndKeepsItsSizeIsTaken) {
  const timespec then[] = {{.tv_sec = 1'000'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000'000, .tv_nsec = 0}};
  const auto set_back = [&](const std::string& path) { ASSERT_EQ(utimensat(AT_FDCWD, path.c_str(), then, 0), 0); };
  git(repository_, {"config", "core.trustctime", "false"});  // a test cannot set that time
  set_back(at("a.txt"));
  git(tree_.path, {"update-index", "--refresh"});
  set_back(entry() + "/index");
  write(at("a.txt"), "ONE\ntwo\nthree\n");
  set_back(at("a.txt"));
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  EXPECT_EQ(git(repository_, {"show", commit + ":a.txt"}), "ONE\ntwo\nthree");
}

TEST_F(GitCheckpointsTest, NamesThatAreHardToQuoteComeBackAsTheyWere) {
  const std::vector<std::string> names = {
      "with space",  "quo\"te's",   "new\nline", "-dash",          "--all", "\xc3\xa4\xe2\x82\xac",
      ":(exclude)x", "back\\slash", "tab\t",     "sub/dir/..file", "*",     "\xff\xfe"};
  for (const std::string& name : names) write(at(name), name);
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  for (const std::string& name : names) std::filesystem::remove(at(name));
  repositories_->restore_checkpoint(tree_, commit);
  for (const std::string& name : names) EXPECT_EQ(read(at(name)), name);
}

TEST_F(GitCheckpointsTest, ExecutableBitsLinksDeletedAndRenamedFilesComeBack) {
  write(at("run.sh"), "#!/bin/sh\n");
  chmod(at("run.sh").c_str(), 0755);
  std::filesystem::create_symlink("../../outside", at("link"));
  std::filesystem::rename(at("a.txt"), at("b.txt"));
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  EXPECT_EQ(git(repository_, {"cat-file", "-p", commit + ":link"}), "../../outside");
  git(tree_.path, {"reset", "-q", "--hard"});
  git(tree_.path, {"clean", "-qfdx"});
  repositories_->restore_checkpoint(tree_, commit);
  struct stat found{};
  ASSERT_EQ(stat(at("run.sh").c_str(), &found), 0);
  EXPECT_TRUE(found.st_mode & S_IXUSR);
  EXPECT_EQ(std::filesystem::read_symlink(at("link")), "../../outside");
  EXPECT_FALSE(exists(at("a.txt")));
  EXPECT_EQ(read(at("b.txt")), "one\ntwo\nthree\n");
}

TEST_F(GitCheckpointsTest, ALinkOutOfTheTreeIsNeitherReadNorWrittenThrough) {
  write(folder_ + "/outside/secret.txt", "secret");
  std::filesystem::create_symlink(folder_ + "/outside", at("way"));
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  EXPECT_EQ(files_of(commit), std::string("a.txt\0way\0", 10));
  std::filesystem::remove(at("way"));
  write(at("way/secret.txt"), "inside");
  const std::string second = repositories_->take_checkpoint(tree_, "two");
  std::filesystem::remove_all(at("way"));
  std::filesystem::create_symlink(folder_ + "/outside", at("way"));
  repositories_->restore_checkpoint(tree_, second);
  EXPECT_EQ(read(folder_ + "/outside/secret.txt"), "secret");
  EXPECT_EQ(read(at("way/secret.txt")), "inside");
}

TEST_F(GitCheckpointsTest, IgnoredFilesAreNotTakenAndStayWhenOneIsRestored) {
  write(at(".gitignore"), "*.o\n");
  write(at("x.o"), "object");
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  EXPECT_EQ(files_of(commit), std::string(".gitignore\0a.txt\0", 17));
  write(at("y.o"), "object");
  repositories_->restore_checkpoint(tree_, commit);
  EXPECT_TRUE(exists(at("x.o")) && exists(at("y.o")));
}

TEST_F(GitCheckpointsTest, RestoringPutsBranchIndexAndFilesBackAndTakesAwayWhatCameLater) {
  write(at("new.txt"), "new\n");
  write(at("a.txt"), "changed\n");
  const std::string status_then = status(tree_.path), head_then = head(tree_.path);
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  write(at("a.txt"), "committed later\n");
  write(at("folder/later.txt"), "later\n");
  commit_all(tree_.path, "Later");
  write(at("untracked.txt"), "later\n");
  git(tree_.path, {"checkout", "-q", "-b", "elsewhere"});
  repositories_->restore_checkpoint(tree_, commit);
  EXPECT_EQ(git(tree_.path, {"symbolic-ref", "HEAD"}), "refs/heads/flow-1");
  EXPECT_EQ(head(tree_.path), head_then);
  EXPECT_EQ(status(tree_.path), status_then) << "what was uncommitted is so again";
  EXPECT_EQ(read(at("new.txt")), "new\n");
  EXPECT_EQ(read(at("a.txt")), "changed\n");
  EXPECT_FALSE(exists(at("folder")) || exists(at("untracked.txt")));
}

TEST_F(GitCheckpointsTest, ARestoreThatStoppedAnywhereEndsTheSameWhenRepeated) {
  write(at("new.txt"), "new\n");
  const std::string head_then = head(tree_.path), commit = repositories_->take_checkpoint(tree_, "one");
  const std::vector<std::vector<std::vector<std::string>>> cuts = {
      {{"read-tree", "--reset", "-u", commit}},
      {{"read-tree", "--reset", "-u", commit}, {"clean", "-ffdq"}},
      {{"read-tree", "--reset", "-u", commit}, {"clean", "-ffdq"}, {"update-ref", "refs/heads/flow-1", head_then}}};
  for (const auto& cut : cuts) {
    write(at("later.txt"), "later\n");
    commit_all(tree_.path, "Later");
    write(at("untracked.txt"), "later\n");
    for (const auto& words : cut) git(tree_.path, words);
    repositories_->restore_checkpoint(tree_, commit);
    EXPECT_EQ(head(tree_.path), head_then);
    EXPECT_EQ(status(tree_.path), "?? new.txt");
  }
}

TEST_F(GitCheckpointsTest, AMergeThatWaitsForItsEndIsForgottenWhenOneIsRestored) {
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  git(tree_.path, {"checkout", "-q", "-b", "other"});
  write(at("a.txt"), "other\n");
  commit_all(tree_.path, "Other");
  git(tree_.path, {"checkout", "-q", "flow-1"});
  write(at("a.txt"), "own\n");
  commit_all(tree_.path, "Own");
  EXPECT_FALSE(try_git(tree_.path, {"merge", "other"}).ok());
  EXPECT_NE(repositories_->take_checkpoint(tree_, "amid"), "");
  repositories_->restore_checkpoint(tree_, commit);
  EXPECT_EQ(status(tree_.path), "");
  EXPECT_FALSE(exists(entry() + "/MERGE_HEAD"));
}

TEST_F(GitCheckpointsTest, ALockThatAKilledGitHasLeftBehindIsRemoved) {
  const std::string commit = repositories_->take_checkpoint(tree_, "one"), lock = entry() + "/index.lock";
  write(lock, "");
  write(at("later.txt"), "later\n");
  FastClock fast;
  const skald::Env env{fast, *random_, skald::silent_observer()};
  git_repositories(env, std::chrono::minutes(10))->restore_checkpoint(tree_, commit);
  EXPECT_FALSE(exists(at("later.txt")) || exists(lock));
}

TEST_F(GitCheckpointsTest, ALockThatIsOldByAClockThatHasJumpedIsLeftToItsHolder) {
  const std::string commit = repositories_->take_checkpoint(tree_, "one"), lock = entry() + "/index.lock";
  write(lock, "");
  const timespec old[] = {{.tv_sec = 1'000'000'000, .tv_nsec = 0}, {.tv_sec = 1'000'000'000, .tv_nsec = 0}};
  ASSERT_EQ(utimensat(AT_FDCWD, lock.c_str(), old, 0), 0);
  const auto impatient = git_repositories(env_, std::chrono::milliseconds(300));
  EXPECT_EQ(code_of([&] { impatient->restore_checkpoint(tree_, commit); }), "GIT_BUSY");
  EXPECT_TRUE(exists(lock));
}

TEST_F(GitCheckpointsTest, ALockThatIsYoungIsLeftToItsHolder) {
  const std::string commit = repositories_->take_checkpoint(tree_, "one"), lock = entry() + "/index.lock";
  write(lock, "");
  const auto impatient = git_repositories(env_, std::chrono::milliseconds(300));
  EXPECT_EQ(code_of([&] { impatient->restore_checkpoint(tree_, commit); }), "GIT_BUSY");
  EXPECT_TRUE(exists(lock));
}

TEST_F(GitCheckpointsTest, AWorktreeWithoutACommitHasCheckpointsToo) {
  git(tree_.path, {"checkout", "-q", "--orphan", "fresh"});
  write(at("new.txt"), "new\n");
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  EXPECT_EQ(git(repository_, {"rev-list", "--count", commit}), "1");
  std::filesystem::remove(at("new.txt"));
  repositories_->restore_checkpoint(tree_, commit);
  EXPECT_EQ(read(at("new.txt")), "new\n");
  EXPECT_FALSE(try_git(tree_.path, {"rev-parse", "--verify", "-q", "HEAD"}).ok());
}

TEST_F(GitCheckpointsTest, RepositoriesInsideAreKeptAsTheirCommitAndOneWithoutACommitIsLeftOut) {
  for (const std::string name : {"inside", "unborn one", "deep/unborn"}) {
    std::filesystem::create_directories(at(name));
    git(at(name), {"init", "-q"});
    write(at(name) + "/file.txt", "x\n");
  }
  const std::string inside = commit_all(at("inside"), "Inside");
  write(at("new.txt"), "new\n");
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  EXPECT_EQ(files_of(commit), std::string("a.txt\0inside\0new.txt\0", 21));
  EXPECT_EQ(git(repository_, {"rev-parse", commit + ":inside"}), inside);
  repositories_->restore_checkpoint(tree_, commit);
  EXPECT_EQ(head(at("inside")), inside);
}

TEST_F(GitCheckpointsTest, ARepositoryThatNamesLfsWorksWhereItIsNotInstalled) {
  git(repository_, {"config", "filter.lfs.clean", "git-lfs-that-is-not-there clean -- %f"});
  git(repository_, {"config", "filter.lfs.smudge", "git-lfs-that-is-not-there smudge -- %f"});
  git(repository_, {"config", "filter.lfs.process", "git-lfs-that-is-not-there filter-process"});
  git(repository_, {"config", "filter.lfs.required", "true"});
  write(at(".gitattributes"), "*.bin filter=lfs diff=lfs merge=lfs -text\n");
  write(at("big.bin"), "bytes");
  const std::string commit = repositories_->take_checkpoint(tree_, "one");
  std::filesystem::remove(at("big.bin"));
  repositories_->restore_checkpoint(tree_, commit);
  EXPECT_EQ(read(at("big.bin")), "bytes");
}

TEST_F(GitCheckpointsTest, DroppingTakesTheNameAndAllBelowItAndNoOther) {
  for (const std::string name : {"flow-1/a", "flow-1/b/c", "flow-10/a", "single"})
    repositories_->take_checkpoint(tree_, name);
  repositories_->drop_checkpoints(repository_, "flow-1");
  repositories_->drop_checkpoints(repository_, "single");
  repositories_->drop_checkpoints(repository_, "single");
  EXPECT_EQ(git(repository_, {"for-each-ref", "--format=%(refname)", "refs/skald/"}), "refs/skald/flow-10/a");
}

TEST_F(GitCheckpointsTest, AWorktreeThatIsNotThereIsSaidToBeMissing) {
  EXPECT_EQ(code_of([&] { repositories_->take_checkpoint(tree("flow-2"), "one"); }), "NO_TREE");
  EXPECT_EQ(code_of([&] { repositories_->restore_checkpoint(tree_, std::string(40, '1')); }), "NO_SUCH_REF");
}

}  // namespace
}  // namespace agentflow
