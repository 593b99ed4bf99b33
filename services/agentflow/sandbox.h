// An agent in a sandbox (bubblewrap): it sees the machine read only, and writes to its workflow's space and to what git
// needs for a commit there.
//
// | what               | in the sandbox                                                                     |
// | the space          | writable, with all worktrees                                                       |
// | repositories       | to be read; writable: objects, the workflow's branches, the worktree's own folder  |
// | /tmp, /var/tmp     | empty, in memory, its own                                                          |
// | homes, /run        | empty, in memory, but for `readable` of the preset                                 |
// | the data folder    | hidden but for the above                                                           |
// | the rest           | read only                                                                          |
// | processes          | its own alone; all die with bwrap, and bwrap with its supervisor                   |
// | network            | ours, or none at all                                                               |
//
// One that is told to end has no grace: bwrap goes at once, and takes it along.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentflow/repositories.h"
#include "skald/process.h"

namespace agentflow {

enum class Sandbox { off, wanted, required };
BOOST_DESCRIBE_ENUM(Sandbox, off, wanted, required)

// In the order in which they cover each other.
struct SandboxView {
  std::vector<std::string> hidden, readable, writable, fixed;
  bool network = true;
};

struct SandboxRequest {
  std::string space;
  std::vector<Tree> trees = {};  // that it may commit in
  std::vector<std::string> hidden = {};  // beside homes and /run
  std::vector<std::string> readable = {};  // absolute, or ~/…
  std::string home = {};
  bool network = true;
};

// Throws as commit_places(); Refused (NO_SANDBOX) where the space is a link.
SandboxView sandbox_view(const SandboxRequest& request);

// The same run, in the sandbox.
void enclose(skald::RunSpec& spec, const std::string& bwrap, const SandboxView& view);

// Why this machine has none: there is no bwrap, or the kernel does not let it. None: it has.
std::optional<std::string> sandbox_problem(const skald::Clock& clock, const std::string& bwrap,
                                           const skald::Variables& variables);

}  // namespace agentflow
