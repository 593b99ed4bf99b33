// What may be handed to git as a name. Each throws Invalid with a sentence; nothing is asked of git.
#pragma once

#include <string>

namespace agentflow {

// By the rules of git-check-ref-format(1) for a branch: BAD_BRANCH. At most 200 bytes.
void check_branch(const std::string& name);
// What stands behind refs/skald/, by the same rules: BAD_CHECKPOINT.
void check_checkpoint_name(const std::string& name);
// A whole object id in hexadecimal: BAD_COMMIT.
void check_commit(const std::string& id);
// A branch, tag or commit that somebody has typed: BAD_BRANCH.
void check_revision(const std::string& name);
// Absolute, without "..", without characters that steer a terminal or end a line in git's own files: BAD_PATH.
void check_path(const std::string& path);
// A URL (https, ssh, git, file), host:path, or an absolute folder: BAD_REMOTE. The rest is refused because git runs
// programs for it (ext::), takes it for an option, or sends passwords in the clear (http).
void check_remote(const std::string& remote);
// Text of a commit: BAD_COMMIT_MESSAGE where it is too long or holds a NUL.
void check_message(const std::string& message);
// An integration's id goes into a line of the commit: BAD_COMMIT_MESSAGE.
void check_integration_id(const std::string& id);

}  // namespace agentflow
