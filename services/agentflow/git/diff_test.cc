#include <algorithm>

#include "agentflow/git/fixture.h"

namespace agentflow {
namespace {

class GitDiffTest : public GitTest {
 protected:
  GitDiffTest() {
    add(tree_);
    base_ = head(tree_.path);
  }
  std::string at(const std::string& name) { return tree_.path + "/" + name; }
  Diff now(std::size_t text_max = 1 << 20) { return repositories_->diff(tree_, base_, std::nullopt, text_max); }
  static const FileChange* of(const Diff& diff, const std::string& path) {
    const auto found =
        std::find_if(diff.files.begin(), diff.files.end(), [&](const auto& file) { return file.path == path; });
    return found == diff.files.end() ? nullptr : &*found;
  }

  std::string base_;
};

TEST_F(GitDiffTest, NewChangedDeletedAndRenamedFilesAreNamedWithTheirLines) {
  write(at("long.txt"), "1\n2\n3\n4\n5\n6\n7\n8\n");
  write(at("gone.txt"), "gone\n");
  write(at("kind.txt"), "a file\n");
  base_ = commit_all(tree_.path, "Before");
  write(at("a.txt"), "one\n2\nthree\nfour\n");
  std::filesystem::rename(at("long.txt"), at("moved \"and\n quoted\".txt"));
  std::filesystem::remove(at("gone.txt"));
  std::filesystem::remove(at("kind.txt"));
  std::filesystem::create_symlink("a.txt", at("kind.txt"));
  write(at("-new.txt"), "new\n");
  write(at("raw.bin"), std::string("\0\1\2", 3));
  const std::string status_before = status(tree_.path);
  const Diff diff = now();
  ASSERT_EQ(diff.files.size(), 6u);
  EXPECT_EQ(of(diff, "a.txt")->kind, "modified");
  EXPECT_EQ(of(diff, "a.txt")->lines_added, 2);
  EXPECT_EQ(of(diff, "a.txt")->lines_deleted, 1);
  EXPECT_EQ(of(diff, "moved \"and\n quoted\".txt")->old_path, "long.txt");
  EXPECT_EQ(of(diff, "moved \"and\n quoted\".txt")->kind, "renamed");
  EXPECT_EQ(of(diff, "gone.txt")->kind, "deleted");
  EXPECT_EQ(of(diff, "kind.txt")->kind, "type");
  EXPECT_EQ(of(diff, "-new.txt")->kind, "added");
  EXPECT_EQ(of(diff, "-new.txt")->lines_added, 1);
  EXPECT_TRUE(of(diff, "raw.bin")->binary);
  EXPECT_FALSE(diff.truncated);
  EXPECT_NE(diff.text.find("+four\n"), std::string::npos);
  EXPECT_EQ(status(tree_.path), status_before);
}

TEST_F(GitDiffTest, LongTextIsCutAndAllFilesAreNamedAllTheSame) {
  for (int i = 0; i < 20; ++i) write(at("file" + std::to_string(i)), std::string(1000, 'x') + "\n");
  const Diff diff = now(500);
  EXPECT_EQ(diff.files.size(), 20u);
  EXPECT_TRUE(diff.truncated);
  EXPECT_LE(diff.text.size(), 500u);
  EXPECT_EQ(now(0).text, "");
}

TEST_F(GitDiffTest, BetweenTwoCommitsTheWorktreeDoesNotMatter) {
  write(at("b.txt"), "b\n");
  const std::string later = commit_all(tree_.path, "Later");
  write(at("c.txt"), "c\n");
  const Diff diff = repositories_->diff(tree_, base_, later, 1 << 20);
  ASSERT_EQ(diff.files.size(), 1u);
  EXPECT_EQ(diff.files[0].path, "b.txt");
  EXPECT_TRUE(repositories_->diff(tree_, later, later, 100).files.empty());
}

TEST_F(GitDiffTest, SettingsOfTheRepositoryDoNotChangeHowItLooks) {
  git(repository_, {"config", "diff.noprefix", "true"});
  git(repository_, {"config", "diff.external", "/bin/false"});
  git(repository_, {"config", "color.ui", "always"});
  git(repository_, {"config", "diff.text.textconv", "/bin/false"});
  write(at(".gitattributes"), "*.txt diff=text\n");
  write(at("a.txt"), "changed\n");
  EXPECT_NE(now().text.find("\n--- a/a.txt\n+++ b/a.txt\n"), std::string::npos);
}

TEST_F(GitDiffTest, ACommitThatIsNotThereIsRefusedAndAnOptionIsNoCommit) {
  EXPECT_EQ(code_of([&] { repositories_->diff(tree_, std::string(40, '1'), std::nullopt, 10); }), "GIT_FAILED");
  EXPECT_EQ(code_of([&] { repositories_->diff(tree_, "--output=x", std::nullopt, 10); }), "BAD_COMMIT");
}

}  // namespace
}  // namespace agentflow
