#include "agentflow/git/checkouts.h"

#include <algorithm>
#include <filesystem>
#include <string_view>

#include "agentflow/git/layout.h"

namespace agentflow {
namespace {

// A rebase takes HEAD off its branch and puts it back at its end.
std::string rebased_branch(const GitPlace& place) {
  for (const char* file : {"/rebase-merge/head-name", "/rebase-apply/head-name"})
    if (std::string name = read_line_file(place.git_dir + file); name.starts_with("refs/heads/")) return name;
  return "";
}

}  // namespace

std::vector<Checkout> list_checkouts(const GitProgram& git, const GitPlace& repository) {
  const std::string text = git.ask(repository, {"worktree", "list", "--porcelain", "-z"});
  std::vector<Checkout> all;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view field = rest.substr(0, rest.find('\0'));
    rest.remove_prefix(std::min(rest.size(), field.size() + 1));
    if (field.starts_with("worktree ")) all.push_back({.folder = std::string(field.substr(9)), .branch = ""});
    if (field.starts_with("branch ") && !all.empty()) all.back().branch = field.substr(7);
  }
  std::erase_if(all, [&](Checkout& checkout) {
    std::error_code ignored;
    if (!std::filesystem::is_directory(checkout.folder, ignored)) return true;
    if (checkout.branch.empty()) {
      checkout.branch = rebased_branch(somebodys_place(repository, checkout.folder));
      checkout.rebasing = true;
    }
    return checkout.branch.empty();
  });
  return all;
}

}  // namespace agentflow
