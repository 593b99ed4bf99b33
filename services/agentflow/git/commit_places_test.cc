#include "agentflow/git/commit_places.h"

#include <gmock/gmock.h>

#include "agentflow/git/fixture.h"

namespace agentflow {
namespace {

using GitCommitPlacesTest = GitTest;

TEST_F(GitCommitPlacesTest, NothingIsWritableThatGitWouldRunOrThatIsAPersons) {
  const Tree own{.repository = repository_, .path = folder_ + "/trees/flow-1", .branch = "skald/flow-1"};
  add(own);
  const std::string common = repository_ + "/.git", entry = common + "/worktrees/flow-1";
  const CommitPlaces places = commit_places(own);
  EXPECT_EQ(places.repository, common);
  EXPECT_THAT(places.writable, testing::UnorderedElementsAre(common + "/objects", common + "/refs/heads/skald",
                                                             common + "/logs/refs/heads/skald", entry));
  EXPECT_THAT(places.fixed, testing::UnorderedElementsAre(entry + "/commondir", entry + "/gitdir",
                                                          entry + "/config.worktree", entry + "/skald"));
  for (const std::string& path : places.writable) EXPECT_TRUE(std::filesystem::is_directory(path)) << path;
}

TEST_F(GitCommitPlacesTest, AFolderThatLeadsElsewhereIsNoWorktree) {
  add(tree_);
  add(tree("flow-2"));
  std::filesystem::remove_all(tree_.path);
  std::filesystem::create_directory_symlink(folder_ + "/trees/flow-2", tree_.path);
  EXPECT_EQ(code_of([&] { commit_places(tree_); }), "NO_TREE");
}

}  // namespace
}  // namespace agentflow
