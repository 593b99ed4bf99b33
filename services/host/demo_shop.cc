#include "host/demo_shop.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>

#include "host/demo_flow_plan.h"
#include "skald/error.h"
#include "skald/process.h"

namespace skald::host {
namespace {

namespace fs = std::filesystem;

// Not the configuration of whoever watches the demo: it may sign commits, or run hooks.
const Variables kDemoGit = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"GIT_CONFIG_GLOBAL", "/dev/null"}};

}  // namespace

DemoFolder::DemoFolder() {
  std::string name = (fs::temp_directory_path() / "skald-demo-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr)
    throw Unavailable("DATA_FOLDER", "no folder can be made at " + name + ": " + std::strerror(errno) +
                                         "; set TMPDIR to a place that can be written");
  path_ = fs::canonical(name);
}

DemoFolder::~DemoFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

DemoShop::DemoShop(const Clock& clock, fs::path folder) : clock_(clock), folder_(std::move(folder)) {
  for (const std::string_view repository : kDemoRepositories) {
    fs::create_directories(path(repository));
    git(repository, {"init", "-q", "-b", "main"});
    for (const DemoFile& file : kDemoFiles)
      if (file.repository == repository) write_file(path(repository) / file.path, file.text);
    git(repository, {"add", "."});
    git(repository, {"commit", "-q", "-m", "The shop opens"});
  }
}

std::string DemoShop::git(std::string_view repository, std::vector<std::string> words) const {
  words.insert(words.begin(), {"git", "-c", "user.name=demo", "-c", "user.email=demo@example.invalid"});
  CommandResult result =
      run_command(clock_, {.argv = words, .folder = path(repository).string(), .variables = kDemoGit});
  if (!result.ok()) throw Unavailable("NO_GIT", "git is needed here, and says no: " + result.err);
  return std::move(result.out);
}

std::string DemoShop::on_main(std::string_view repository, std::string_view file) const {
  if (git(repository, {"ls-tree", "--name-only", "main", std::string(file)}).empty()) return "";
  return git(repository, {"show", "main:" + std::string(file)});
}

int DemoShop::commits_on_main(std::string_view repository) const {
  return std::stoi(git(repository, {"rev-list", "--count", "main"}));
}

std::vector<std::string> DemoShop::left_behind() const {
  std::vector<std::string> out;
  for (const std::string_view repository : kDemoRepositories) {
    std::istringstream refs(git(repository, {"for-each-ref", "--format=%(refname)"}));
    for (std::string line; std::getline(refs, line);)
      if (line != "refs/heads/main") out.push_back(std::string(repository) + " has " + line);
    std::istringstream trees(git(repository, {"worktree", "list", "--porcelain"}));
    for (std::string line; std::getline(trees, line);)
      if (line.starts_with("worktree ") && line != "worktree " + path(repository).string())
        out.push_back(std::string(repository) + " has " + line);
  }
  return out;
}

void write_file(const fs::path& path, std::string_view text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  if (!file.flush()) throw Unavailable("DATA_FOLDER", "the file " + path.string() + " cannot be written");
}

std::string read_file(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace skald::host
