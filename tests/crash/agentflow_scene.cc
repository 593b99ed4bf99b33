#include "crash/agentflow_scene.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "skald/process.h"
#include "support/built.h"

namespace skald::crash {
namespace {

bool is_number(const std::string& name) { return name.find_first_not_of("0123456789") == name.npos; }

}  // namespace

std::string text_of_file(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

void write_text(const std::string& path, const std::string& text) { std::ofstream(path, std::ios::binary) << text; }

FlowScene::FlowScene(Dialect dialect, std::int64_t lease_ms, std::int64_t beat_ms)
    : lease_ms_(lease_ms), beat_ms_(beat_ms) {
  if (dialect == Dialect::postgres) server_ = std::make_unique<test::ScratchPostgres>();
  database_ = server_ ? server_->url() : path("flow.db");
  for (const char* name : {"one", "two"}) make_repository(path(name));
}

std::unique_ptr<ServedProcess> FlowScene::start(Doom doom, int place) const {
  const std::string notes = path("place-" + std::to_string(place));
  std::filesystem::create_directories(notes);
  const FlowProcessOptions options{.database = database_,
                                   .folder = data(),
                                   .supervisor = built::kSupervisor,
                                   .lease_ms = lease_ms_,
                                   .beat_ms = beat_ms_,
                                   .crash_notes = notes + "/crash",
                                   .doom = std::move(doom)};
  return std::make_unique<ServedProcess>(std::vector<std::string>{built::kAgentflowProcess, to_json(options)});
}

std::string FlowScene::git(const std::string& where, std::vector<std::string> words) const {
  words.insert(words.begin(), {"git", "-c", "user.name=test", "-c", "user.email=test@example.invalid"});
  const skald::CommandResult result = run_command(
      *clock_, {.argv = std::move(words),
                .folder = where,
                .variables = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}, {"GIT_CONFIG_GLOBAL", "/dev/null"}}});
  if (!result.ok()) throw std::runtime_error("git in " + where + ": " + result.err);
  return result.out.ends_with('\n') ? result.out.substr(0, result.out.size() - 1) : result.out;
}

void FlowScene::make_repository(const std::string& where) const {
  std::filesystem::create_directories(where);
  git(where, {"init", "-q", "-b", "main"});
  write_text(where + "/shared.txt", "first\n");
  git(where, {"add", "."});
  git(where, {"commit", "-q", "-m", "first"});
}

std::set<std::string> FlowScene::git_files(const std::string& repository) const {
  const std::filesystem::path root = path(repository) + "/.git";
  std::set<std::string> out;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(root)) {
    const std::string name = entry.path().lexically_relative(root).string();
    if (!entry.is_directory() && !name.starts_with("objects/") && !name.starts_with("logs/")) out.insert(name);
  }
  return out;
}

std::vector<std::string> FlowScene::processes() const {
  std::vector<std::string> out;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    if (!is_number(entry.path().filename().string())) continue;
    std::error_code gone;
    const std::string cwd = std::filesystem::read_symlink(entry.path() / "cwd", gone).string();
    std::string words = text_of_file((entry.path() / "cmdline").string());
    std::ranges::replace(words, '\0', ' ');
    const bool supervises = words.find(" agent-run " + folder_) != words.npos;
    if (supervises || cwd.starts_with(folder_)) out.push_back(entry.path().filename().string() + " " + words);
  }
  return out;
}

}  // namespace skald::crash
