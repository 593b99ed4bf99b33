// The folders of workflows and of clones, on disk.
//
// Every call may be repeated: what is done already is found done.
//
// | what happens                       | what is thrown               |
// | a folder cannot be made            | Refused NO_SPACE_FOLDER      |
// | a folder cannot be removed         | Unavailable NO_SPACE_FOLDER  |
// | a file cannot be written           | Unavailable NO_SPACE_FOLDER  |
//
// An interface, because the simulator has a disk of its own. Thread safe.
#pragma once

#include <memory>
#include <string>

namespace agentflow {

class Spaces {
 public:
  virtual ~Spaces() = default;

  // With the folders above it.
  virtual void make(const std::string& folder) = 0;
  // With everything in it.
  virtual void remove(const std::string& folder) = 0;
  // Whole or not at all, in place of what is there; for this user's eyes only.
  virtual void write_file(const std::string& path, const std::string& text) = 0;
};

// Real ones.
std::shared_ptr<Spaces> folder_spaces();

}  // namespace agentflow
