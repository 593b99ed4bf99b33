// Commits as git stores them, read and written as they are: what a person wrote as author, date or message goes through
// unchanged, whatever is in it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "agentflow/git/command.h"

namespace agentflow {

struct GitCommit {
  std::string id = {};  // of one that was read
  std::string tree = {};
  std::vector<std::string> parents = {};
  std::string author = {}, committer = {};  // name <address> seconds offset
  std::string encoding = {};  // of the message; empty: UTF-8
  std::string message = {};

  // "seconds offset" of the committer: commits that are made again from the same have the same id.
  std::string date() const;
};

// What each name (a ref in full, HEAD, or an id) leads to; none where it is not there. One process for all.
std::vector<std::optional<GitCommit>> read_commits(const GitProgram& git, const GitPlace& place,
                                                   const std::vector<std::string>& names);
// Refused (NO_SUCH_REF) where it is not there.
GitCommit read_commit(const GitProgram& git, const GitPlace& place, const std::string& name);
// Returns its id.
std::string write_commit(const GitProgram& git, const GitPlace& place, const GitCommit& commit);

// Us, for author and committer.
std::string our_signature(const std::string& date);
std::string our_signature(skald::Time at);

}  // namespace agentflow
