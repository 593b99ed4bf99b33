#include "agentflow/git/command.h"

#include <cstdlib>

#include "agentflow/git/stale_lock.h"
#include "skald/controls.h"
#include "skald/error.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kWordsMax = 2000;

constexpr std::string_view kGitVariables[] = {
    "HOME=/nonexistent",
    "LC_ALL=C",
    "GIT_CONFIG_GLOBAL=/dev/null",
    "GIT_CONFIG_NOSYSTEM=1",
    "GIT_ATTR_NOSYSTEM=1",
    "GIT_TERMINAL_PROMPT=0",
    "GIT_ASKPASS=/bin/false",
    "SSH_ASKPASS=/bin/false",
    "GIT_SSH_COMMAND=ssh -oBatchMode=yes",
    "GIT_ALLOW_PROTOCOL=https:ssh:git:file",
    "GIT_OPTIONAL_LOCKS=0",
    "GIT_LFS_SKIP_SMUDGE=1",
    "GIT_EDITOR=/bin/false",
    "GIT_PAGER=cat",
    "GIT_NO_REPLACE_OBJECTS=1",
    "GIT_LITERAL_PATHSPECS=0",
    "GIT_AUTHOR_NAME=skald",
    "GIT_AUTHOR_EMAIL=skald@example.invalid",
    "GIT_COMMITTER_NAME=skald",
    "GIT_COMMITTER_EMAIL=skald@example.invalid",
};

// What a clone over a network may need: a key agent, a proxy, certificates.
constexpr std::string_view kOursForNetwork =
    "SSH_AUTH_SOCK http_proxy https_proxy no_proxy GIT_SSL_CAINFO SSL_CERT_FILE ";

// LFS is neutral, so that a machine without it can work with a repository that names it.
constexpr std::string_view kGitSettings[] = {
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.safecrlf=false",
    "core.splitIndex=false",
    "gc.auto=0",
    "maintenance.auto=false",
    "advice.detachedHead=false",
    "advice.addEmbeddedRepo=false",
    "commit.gpgSign=false",
    "submodule.recurse=false",
    "protocol.ext.allow=never",
    "safe.directory=*",
    "filter.lfs.smudge=",
    "filter.lfs.clean=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
};

void add_ours(skald::Variables& variables, std::string_view names) {
  for (std::size_t space; (space = names.find(' ')) != names.npos; names.remove_prefix(space + 1)) {
    const std::string name(names.substr(0, space));
    if (const char* value = std::getenv(name.c_str())) variables[name] = value;
  }
}

// user:password@ between "://" and the host.
std::string without_passwords(std::string_view text) {
  std::string out;
  for (std::size_t scheme; (scheme = text.find("://")) != text.npos;) {
    out += text.substr(0, scheme + 3);
    text.remove_prefix(scheme + 3);
    const std::size_t end = text.find_first_of("/ '\"\n"), at = text.substr(0, end).rfind('@');
    if (at != text.npos) text.remove_prefix(at + 1);
  }
  return out += text;
}

}  // namespace

void set_variable(skald::Variables& variables, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  variables[std::string(assignment.substr(0, equals))] = assignment.substr(equals + 1);
}

std::string git_words(std::string_view text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.remove_suffix(1);
  return skald::escape_controls(skald::cut_text(without_passwords(text), kWordsMax), skald::kLineBreaks);
}

void throw_git_failed(std::string_view doing, const skald::CommandResult& result) {
  const std::string words = git_words(result.err.empty() ? result.out : result.err);
  throw skald::Refused("GIT_FAILED", "git " + std::string(doing) + " said no: " +
                                         (words.empty() ? "exit code " + std::to_string(result.exit_code) : words));
}

GitProgram::GitProgram(const skald::Env& env, skald::Duration timeout) : env_(env), timeout_(timeout) {
  variables_["PATH"] = "/usr/local/bin:/usr/bin:/bin";
  add_ours(variables_, "PATH ");
  for (const std::string_view assignment : kGitVariables) set_variable(variables_, assignment);
}

skald::CommandResult GitProgram::run_once(const GitPlace* place, const GitWords& words, const GitInput& input) const {
  skald::Command command{.argv = {"git"},
                         .variables = variables_,
                         .input = input.text,
                         .timeout = timeout_,
                         .output_max = input.output_max};
  for (const std::string_view setting : kGitSettings) {
    command.argv.emplace_back("-c");
    command.argv.emplace_back(setting);
  }
  command.argv.insert(command.argv.end(), words.begin(), words.end());
  for (const auto& [name, value] : input.variables) command.variables[name] = value;
  if (place) {
    // A git that is killed may leave its lock, and files half changed: in a folder of a person nobody would clean up.
    command.survives_us = place->somebodys;
    command.folder = place->folder;
    set_variable(command.variables, "GIT_DIR=" + place->git_dir);
    if (place->common != place->git_dir) set_variable(command.variables, "GIT_COMMON_DIR=" + place->common);
    if (!place->work_tree.empty()) set_variable(command.variables, "GIT_WORK_TREE=" + place->work_tree);
  }
  skald::CommandResult result = skald::run_command(env_.clock, command);
  if (result.timed_out)
    throw skald::Unavailable("GIT_TIMEOUT", "git " + words.front() + " took longer than " +
                                                std::to_string(timeout_ / std::chrono::seconds(1)) +
                                                " s; try again, or allow it more time");
  if (result.signal != 0)
    throw skald::Unavailable(
        "GIT_KILLED", "git " + words.front() + " was ended by signal " + std::to_string(result.signal) + "; try again");
  return result;
}

skald::CommandResult GitProgram::run(const GitPlace& place, const GitWords& words, const GitInput& input) const {
  const skald::Instant end = env_.clock.steady() + timeout_;
  for (;;) {
    skald::CommandResult result = run_once(&place, words, input);
    if (result.ok() || place.somebodys) return result;
    const auto lock = git_lock_in_the_way(result.err, place);
    if (!lock) return result;
    await_git_lock(env_.clock, *lock, end);
  }
}

std::string GitProgram::ask(const GitPlace& place, const GitWords& words, const GitInput& input) const {
  skald::CommandResult result = run(place, words, input);
  if (!result.ok()) throw_git_failed(words.front(), result);
  if (result.truncated)
    throw skald::Refused("GIT_FAILED",
                         "git " + words.front() + " prints more than can be read; there is too much of it");
  if (result.out.ends_with('\n')) result.out.pop_back();
  return std::move(result.out);
}

skald::CommandResult GitProgram::run_clone(const GitWords& words) const {
  GitInput input;
  add_ours(input.variables, kOursForNetwork);
  return run_once(nullptr, words, input);
}

}  // namespace agentflow
