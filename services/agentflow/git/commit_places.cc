#include "agentflow/git/commit_places.h"

#include <filesystem>
#include <fstream>

#include "agentflow/git/layout.h"
#include "skald/error.h"

namespace agentflow {
namespace {

namespace fs = std::filesystem;

std::string made_place(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error)
    throw skald::Unavailable("FOLDER_STAYS", "cannot make " + folder.string() + " (" + error.message() +
                                                 "); look at the rights of the repository");
  return folder.string();
}

}  // namespace

CommitPlaces commit_places(const Tree& tree) {
  const GitPlace place = tree_place(tree);
  const fs::path common = place.common, branches = fs::path("refs/heads") / fs::path(tree.branch).parent_path();
  CommitPlaces out{.repository = place.common, .writable = {}, .fixed = {}};
  out.writable = {made_place(common / "objects"), made_place(common / branches), made_place(common / "logs" / branches),
                  place.git_dir};
  // Without one, an agent could make it: a repository may have extensions.worktreeConfig.
  std::ofstream(place.git_dir + "/config.worktree", std::ios::app).close();
  for (const char* name : {"commondir", "gitdir", "config.worktree", "skald"})
    if (const std::string file = place.git_dir + "/" + name; fs::is_regular_file(fs::symlink_status(file)))
      out.fixed.push_back(file);
  return out;
}

}  // namespace agentflow
