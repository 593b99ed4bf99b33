#include "agentflow/git/names.h"

#include <algorithm>
#include <string_view>

#include "skald/controls.h"
#include "skald/error.h"

namespace agentflow {
namespace {

constexpr std::size_t kRefNameMax = 200;  // a component is a file's name, with ".lock" behind it
constexpr std::size_t kRepositoryPathMax = 1024;
constexpr std::size_t kRemoteMax = 2048;
constexpr std::size_t kMessageMax = 64 << 10;

// The name as a message may show it.
std::string shown_name(const std::string& name) {
  return "'" + skald::escape_controls(std::string_view(name).substr(0, kRefNameMax)) + "'";
}

bool is_bad_component(std::string_view part) { return part.empty() || part.front() == '.' || part.ends_with(".lock"); }

// git-check-ref-format(1), and no control characters beyond ASCII either.
bool is_ref_name(std::string_view name) {
  if (name.empty() || name.size() > kRefNameMax || name.front() == '-' || name == "@" || name.ends_with('.'))
    return false;
  if (skald::has_controls(name) || name.find_first_of(" ~^:?*[\\") != name.npos) return false;
  if (name.find("..") != name.npos || name.find("@{") != name.npos) return false;
  for (;;) {
    const std::size_t slash = name.find('/');
    if (is_bad_component(name.substr(0, slash))) return false;
    if (slash == name.npos) return true;
    name.remove_prefix(slash + 1);
  }
}

bool has_parent_step(std::string_view path) {
  return ("/" + std::string(path) + "/").find("/../") != std::string::npos;
}

bool is_url(std::string_view remote) {
  constexpr std::string_view kSchemes[] = {"https://", "ssh://", "git://", "file://"};
  const auto begins = std::find_if(std::begin(kSchemes), std::end(kSchemes),
                                   [&](std::string_view scheme) { return remote.starts_with(scheme); });
  if (begins == std::end(kSchemes)) return false;
  const std::string_view rest = remote.substr(begins->size());
  // ssh would take a host like "-oProxyCommand=…" for an option.
  return !rest.empty() && rest.front() != '-' && rest.find("@-") == rest.npos;
}

// user@host:path
bool is_scp_like(std::string_view remote) {
  const std::size_t colon = remote.find(':');
  if (colon == remote.npos || colon == 0 || colon + 1 == remote.size()) return false;
  const std::string_view host = remote.substr(0, colon), path = remote.substr(colon + 1);
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("@._-[]").find(c) != std::string_view::npos;
  };
  return std::all_of(host.begin(), host.end(), plain) && host.find("@-") == host.npos && path.front() != ':' &&
         path.front() != '-' && !path.starts_with("//");
}

}  // namespace

void check_branch(const std::string& name) {
  if (!is_ref_name(name) || name == "HEAD" || name.starts_with("refs/"))
    throw skald::Invalid("BAD_BRANCH", shown_name(name) +
                                           " cannot be a branch's name; take letters, digits, '-', '_' and '/', "
                                           "at most 200 of them");
}

void check_checkpoint_name(const std::string& name) {
  if (!is_ref_name(name))
    throw skald::Invalid("BAD_CHECKPOINT", shown_name(name) +
                                               " cannot be a checkpoint's name; take letters, digits, '-', '_' "
                                               "and '/', at most 200 of them");
}

void check_commit(const std::string& id) {
  const bool hex = id.find_first_not_of("0123456789abcdef") == id.npos;
  if (!hex || (id.size() != 40 && id.size() != 64))
    throw skald::Invalid("BAD_COMMIT", shown_name(id) + " is no commit's id; resolve a name to its commit first");
}

void check_revision(const std::string& name) {
  if (name.empty() || name.size() > kRefNameMax || name.front() == '-' || skald::has_controls(name))
    throw skald::Invalid("BAD_BRANCH",
                         shown_name(name) + " cannot name a commit; give a branch, a tag or a commit's id");
}

void check_path(const std::string& path) {
  if (path.empty() || path.front() != '/' || path.size() > kRepositoryPathMax || skald::has_controls(path) ||
      has_parent_step(path))
    throw skald::Invalid("BAD_PATH", shown_name(path) +
                                         " is no folder that git can be given; give an absolute path without "
                                         "'..' and control characters, at most 1024 bytes long");
}

void check_remote(const std::string& remote) {
  const bool folder = !remote.empty() && remote.front() == '/' && !has_parent_step(remote);
  const bool known = folder || is_url(remote) || (remote.find("://") == remote.npos && is_scp_like(remote));
  if (!known || remote.size() > kRemoteMax || remote.front() == '-' || skald::has_controls(remote))
    throw skald::Invalid("BAD_REMOTE",
                         "a remote is a URL (https, ssh, git, file), host:path, or an absolute folder; nothing "
                         "else is given to git");
}

void check_message(const std::string& message) {
  if (message.size() > kMessageMax || message.find('\0') != message.npos)
    throw skald::Invalid("BAD_COMMIT_MESSAGE", "a commit's message has at most 64 KiB and no NUL; shorten it");
}

void check_integration_id(const std::string& id) {
  if (id.size() > kRefNameMax || skald::has_controls(id))
    throw skald::Invalid("BAD_COMMIT_MESSAGE", "an integration's id has at most 200 bytes and no control characters");
}

}  // namespace agentflow
