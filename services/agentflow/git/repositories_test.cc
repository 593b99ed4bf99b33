#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "agentflow/git/command.h"
#include "agentflow/git/fixture.h"

namespace agentflow {
namespace {

class GitRepositoriesTest : public GitTest {
 protected:
  std::string refused_clone(const std::string& remote) {
    return code_of([&] { repositories_->clone(remote, folder_ + "/refused"); });
  }
};

TEST_F(GitRepositoriesTest, ACloneIsWholeWithItsTagsAndAgainIsNothing) {
  git(repository_, {"tag", "v1"});
  const std::string copy = folder_ + "/deep/copy";
  repositories_->clone(repository_, copy);
  EXPECT_EQ(read(copy + "/a.txt"), "one\ntwo\nthree\n");
  EXPECT_EQ(repositories_->resolve(copy, "v1"), main_commit());
  write(copy + "/own.txt", "own\n");
  repositories_->clone(repository_, copy);
  EXPECT_EQ(read(copy + "/own.txt"), "own\n");
  repositories_->clone("file://" + repository_, folder_ + "/by-url");
  EXPECT_TRUE(repositories_->inspect(folder_ + "/by-url").path == folder_ + "/by-url");
}

TEST_F(GitRepositoriesTest, ACloneSharesNoFileWithItsSource) {
  repositories_->clone(repository_, folder_ + "/copy");
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder_ + "/copy/.git/objects"))
    EXPECT_TRUE(file.is_directory() || file.hard_link_count() == 1) << file.path();
}

TEST_F(GitRepositoriesTest, ACloneThatFailsOrWasKilledLeavesNothingAtItsPath) {
  EXPECT_EQ(code_of([&] { repositories_->clone(folder_ + "/none", folder_ + "/copy"); }), "GIT_FAILED");
  EXPECT_FALSE(exists(folder_ + "/copy") || exists(folder_ + "/.copy.skald-clone"));
  write(folder_ + "/.copy.skald-clone/clone/.git/HEAD", "half");
  repositories_->clone(repository_, folder_ + "/copy");
  EXPECT_EQ(head(folder_ + "/copy"), main_commit());
  EXPECT_FALSE(exists(folder_ + "/.copy.skald-clone"));
}

TEST_F(GitRepositoriesTest, TwoThreadsThatCloneToOnePathGetOneClone) {
  std::vector<std::string> codes(2);
  const auto clone = [&](std::size_t which) {
    codes[which] = code_of([&] { repositories_->clone(repository_, folder_ + "/copy"); });
  };
  std::thread first(clone, 0), second(clone, 1);
  first.join();
  second.join();
  EXPECT_EQ(codes, (std::vector<std::string>{"", ""}));
  EXPECT_EQ(head(folder_ + "/copy"), main_commit());
  EXPECT_FALSE(exists(folder_ + "/.copy.skald-clone"));
}

TEST_F(GitRepositoriesTest, AFolderOfAnotherUserCanBeCloned) {
  const std::string theirs = make_repository("theirs");
  // Who is not root cannot give files away, and clones their own.
  if (geteuid() == 0) {
    for (const auto& file : std::filesystem::recursive_directory_iterator(theirs))
      EXPECT_EQ(lchown(file.path().c_str(), 12345, 12345), 0);
    EXPECT_EQ(lchown(theirs.c_str(), 12345, 12345), 0);
  }
  repositories_->clone(theirs, folder_ + "/copy");
  EXPECT_EQ(repositories_->inspect(theirs).default_branch, "main");
}

TEST_F(GitRepositoriesTest, SomethingElseAtTheClonesPathStays) {
  write(folder_ + "/copy/theirs.txt", "theirs");
  EXPECT_EQ(code_of([&] { repositories_->clone(repository_, folder_ + "/copy"); }), "TREE_TAKEN");
  EXPECT_EQ(code_of([&] { repositories_->clone(folder_ + "/another", repository_); }), "TREE_TAKEN");
  EXPECT_EQ(read(folder_ + "/copy/theirs.txt"), "theirs");
}

TEST_F(GitRepositoriesTest, RemotesThatRunProgramsOrLookLikeOptionsAreRefused) {
  for (const std::string remote :
       {"ext::sh -c touch% /tmp/x", "-u/bin/false", "--upload-pack=x", "http://example.invalid/x", "fd::17", "",
        "relative/folder", "ssh://-oProxyCommand=x/y", "-oProxyCommand=x:y", "git@-oProxyCommand=x:y",
        "host:", "/a/../b", "https://a\nb", "host::x", "ssh://user@-oProxyCommand=x/y", "file://"})
    EXPECT_EQ(refused_clone(remote), "BAD_REMOTE") << remote;
  EXPECT_FALSE(exists(folder_ + "/refused"));
}

TEST_F(GitRepositoriesTest, GitsWordsAreShownWithoutPasswordsAndControlCharacters) {
  EXPECT_EQ(git_words("no 'https://me:geh@eim@host/x@y' ssh://a@b c@d\n"), "no 'https://host/x@y' ssh://b c@d");
  EXPECT_EQ(git_words("\x1b[31mred\nline\n\n"), "\\u001b[31mred\nline");
  EXPECT_LE(git_words(std::string(100'000, 'x')).size(), 2000u);
  EXPECT_EQ(code_of([&] { repositories_->clone("https://me:secret@localhost:1/x.git", folder_ + "/copy"); }),
            "GIT_FAILED");
}

TEST_F(GitRepositoriesTest, FactsTellBareShallowUnbornAndDetachedApart) {
  write(repository_ + "/b.txt", "b\n");
  commit_all(repository_, "Second");
  git(folder_, {"clone", "-q", "--bare", repository_, "bare.git"});
  git(folder_, {"clone", "-q", "--depth", "1", "file://" + repository_, "shallow"});
  git(folder_, {"init", "-q", "unborn"});
  std::filesystem::create_symlink(repository_, folder_ + "/link");
  const RepositoryFacts plain = repositories_->inspect(folder_ + "/link/");
  EXPECT_EQ(plain.path, repository_);
  EXPECT_EQ(plain.default_branch, "main");
  EXPECT_FALSE(plain.bare || plain.shallow);
  EXPECT_TRUE(repositories_->inspect(folder_ + "/bare.git").bare);
  EXPECT_TRUE(repositories_->inspect(folder_ + "/shallow").shallow);
  EXPECT_EQ(repositories_->inspect(folder_ + "/unborn").default_branch, "");
  EXPECT_EQ(code_of([&] { repositories_->resolve(folder_ + "/unborn", "HEAD"); }), "NO_SUCH_REF");
  git(repository_, {"checkout", "-q", "--detach"});
  EXPECT_EQ(repositories_->inspect(repository_).default_branch, "");
}

TEST_F(GitRepositoriesTest, ANameIsABranchFirstThenATagOrACommit) {
  const std::string first = main_commit();
  git(repository_, {"tag", "-a", "-m", "x", "main"});
  write(repository_ + "/b.txt", "b\n");
  const std::string second = commit_all(repository_, "Second");
  EXPECT_EQ(repositories_->resolve(repository_, "main"), second);
  EXPECT_EQ(repositories_->resolve(repository_, "refs/tags/main"), first);
  EXPECT_EQ(repositories_->resolve(repository_, first.substr(0, 10)), first);
  EXPECT_EQ(code_of([&] { repositories_->resolve(repository_, "none"); }), "NO_SUCH_REF");
  EXPECT_EQ(code_of([&] { repositories_->resolve(repository_, "--all"); }), "BAD_BRANCH");
  EXPECT_EQ(code_of([&] { repositories_->resolve(repository_, "a\nb"); }), "BAD_BRANCH");
}

TEST_F(GitRepositoriesTest, BranchNamesAreAcceptedAsGitAcceptsThem) {
  const std::vector<std::string> names = {
      "flow-1", "a/b",   "UTF-\xc3\xa4", "a.b",      "a@b",  "x\"y'z",  // good ones
      "",       "-a",    "a b",          "a..b",     "..",   "../x",   "a/../b", "/a", "a/", "a//b", ".a",
      "a/.b",   "a.",    "a.lock",       "a.lock/b", "a~1",  "a^",     "a:b",    "a?", "a*", "a[b",  "a\\b",
      "@",      "a@{1}", "@{-1}",        "a\nb",     "a\tb", "a\x7f",  "HEAD"};
  for (const std::string& name : names) {
    Tree wanted = tree("somewhere");
    wanted.branch = name;
    const bool accepted = code_of([&] { repositories_->has_tree(wanted); }) != "BAD_BRANCH";
    EXPECT_EQ(accepted,
              !name.empty() && try_git(repository_, {"check-ref-format", "--branch", name}).ok() && name[0] != '@')
        << name;
  }
}

TEST_F(GitRepositoriesTest, FoldersThatGitCouldMisreadAreRefused) {
  for (const std::string path : {"", "relative", "-C", "/a/../b", "/a\nb", "/..", "/a\x1b[0m"}) {
    Tree wanted = tree("x");
    wanted.path = path;
    EXPECT_EQ(code_of([&] { repositories_->add_tree(wanted, main_commit()); }), "BAD_PATH") << path;
    EXPECT_EQ(code_of([&] { repositories_->inspect(path); }), "BAD_PATH") << path;
  }
  EXPECT_EQ(code_of([&] { repositories_->add_tree(tree("x"), "main"); }), "BAD_COMMIT");
  EXPECT_EQ(code_of([&] { repositories_->take_checkpoint(tree("x"), "../../heads/main"); }), "BAD_CHECKPOINT");
}

TEST_F(GitRepositoriesTest, ARepositoryThatVanishedOrIsNoneIsSaidToBeMissing) {
  add(tree_);
  std::filesystem::create_directories(repository_ + "/sub");
  EXPECT_EQ(code_of([&] { repositories_->inspect(repository_ + "/sub"); }), "NO_REPOSITORY")
      << "a folder inside of one is none";
  std::filesystem::rename(repository_, folder_ + "/moved");
  EXPECT_EQ(code_of([&] { repositories_->inspect(repository_); }), "NO_REPOSITORY");
  EXPECT_EQ(code_of([&] { repositories_->resolve(repository_, "main"); }), "NO_REPOSITORY");
  EXPECT_EQ(code_of([&] { repositories_->has_tree(tree_); }), "NO_REPOSITORY");
  EXPECT_EQ(code_of([&] { repositories_->remove_tree(tree_); }), "NO_REPOSITORY");
  EXPECT_EQ(code_of([&] { repositories_->take_checkpoint(tree_, "one"); }), "NO_REPOSITORY");
}

TEST_F(GitRepositoriesTest, ACallWaitsForTheLockOfAnotherProcessAndGivesUpAtItsTimeout) {
  const auto impatient = git_repositories(env_, std::chrono::milliseconds(300));
  const int file = open((repository_ + "/.git/skald.lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  ASSERT_EQ(flock(file, LOCK_EX), 0);
  EXPECT_EQ(code_of([&] { impatient->add_tree(tree_, main_commit()); }), "GIT_BUSY");
  close(file);
  add(tree_);
  EXPECT_TRUE(repositories_->has_tree(tree_));
}

TEST_F(GitRepositoriesTest, AGitThatTakesTooLongIsEnded) {
  add(tree_);
  git(repository_, {"config", "filter.slow.clean", "exec tail -f /dev/null"});
  write(tree_.path + "/.gitattributes", "*.slow filter=slow\n");
  write(tree_.path + "/x.slow", "x");
  const auto impatient = git_repositories(env_, std::chrono::milliseconds(500));
  EXPECT_EQ(code_of([&] { impatient->take_checkpoint(tree_, "one"); }), "GIT_TIMEOUT");
  std::filesystem::remove(tree_.path + "/x.slow");
  EXPECT_NE(repositories_->take_checkpoint(tree_, "one"), "");
}

}  // namespace
}  // namespace agentflow
