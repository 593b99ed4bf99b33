#include "agentflow/sandbox.h"

#include <filesystem>

#include "agentflow/git/commit_places.h"
#include "skald/controls.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr const char* kEmptied[] = {"/tmp", "/var/tmp", "/run", "/home", "/root"};
constexpr const char* kNames = "/run/systemd/resolve";  // /etc/resolv.conf may lead there
constexpr skald::Duration kTrialMax = std::chrono::seconds(10);

using SandboxWords = std::vector<std::string>;

void add_sandbox_words(SandboxWords& to, std::initializer_list<std::string> words) { to.insert(to.end(), words); }

std::string in_home(const std::string& path, const std::string& home) {
  return path.starts_with("~/") ? home + path.substr(1) : path;
}

// Links are followed, as bwrap does not follow them; empty where it is not there.
std::string real_folder(const std::string& path) {
  std::error_code error;
  const std::filesystem::path found = std::filesystem::canonical(path, error);
  return error || !std::filesystem::is_directory(found, error) ? "" : found.string();
}

// The folder itself is no link: whoever could put one there could have any folder made writable.
std::string real_space(const std::string& space) {
  const std::filesystem::path path(space);
  const std::string above = real_folder(path.parent_path());
  const std::string found = real_folder(space);
  if (found.empty() || found != above + "/" + path.filename().string())
    throw skald::Refused("NO_SANDBOX", "the workflow's folder " + space + " is no folder but leads elsewhere");
  return found;
}

// What both a trial and an agent have: everything read only, processes of its own.
SandboxWords bare_sandbox(const std::string& bwrap) {
  return {
      bwrap,  "--die-with-parent", "--unshare-pid", "--unshare-ipc", "--ro-bind", "/", "/", "--dev", "/dev", "--proc",
      "/proc"};
}

}  // namespace

SandboxView sandbox_view(const SandboxRequest& request) {
  SandboxView out{.hidden = {}, .readable = {kNames}, .writable = {}, .fixed = {}, .network = request.network};
  for (const char* folder : kEmptied) out.hidden.emplace_back(folder);
  if (request.home.size() > 1) out.hidden.push_back(request.home);
  out.hidden.insert(out.hidden.end(), request.hidden.begin(), request.hidden.end());
  for (const std::string& path : request.readable) out.readable.push_back(in_home(path, request.home));
  out.writable.push_back(real_space(request.space));
  for (const Tree& tree : request.trees) {
    CommitPlaces places = commit_places(tree);
    out.readable.push_back(std::move(places.repository));
    out.writable.insert(out.writable.end(), places.writable.begin(), places.writable.end());
    out.fixed.insert(out.fixed.end(), places.fixed.begin(), places.fixed.end());
  }
  return out;
}

void enclose(skald::RunSpec& spec, const std::string& bwrap, const SandboxView& view) {
  SandboxWords words = bare_sandbox(bwrap);
  if (!view.network) words.emplace_back("--unshare-net");
  for (const std::string& path : view.hidden)
    if (const std::string folder = real_folder(path); !folder.empty()) add_sandbox_words(words, {"--tmpfs", folder});
  for (const std::string& path : view.readable) add_sandbox_words(words, {"--ro-bind-try", path, path});
  for (const std::string& folder : view.writable) add_sandbox_words(words, {"--bind", folder, folder});
  for (const std::string& file : view.fixed) add_sandbox_words(words, {"--ro-bind", file, file});
  add_sandbox_words(words, {"--chdir", spec.folder, "--"});
  spec.argv.insert(spec.argv.begin(), words.begin(), words.end());
  spec.variables["TMPDIR"] = "/tmp";
}

std::optional<std::string> sandbox_problem(const skald::Clock& clock, const std::string& bwrap,
                                           const skald::Variables& variables) {
  SandboxWords words = bare_sandbox(bwrap);
  add_sandbox_words(words, {"--unshare-net", "--", "true"});
  const skald::CommandResult trial =
      skald::run_command(clock, {.argv = words, .variables = variables, .timeout = kTrialMax});
  if (trial.ok()) return std::nullopt;
  if (trial.timed_out) return bwrap + " does not come to an end";
  std::string_view said = trial.err.empty() ? std::string_view("it says nothing") : std::string_view(trial.err);
  while (said.ends_with('\n')) said.remove_suffix(1);
  return skald::escape_controls(skald::cut_text(said, 300));
}

}  // namespace agentflow
