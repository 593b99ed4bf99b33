// The repositories of `skald demo flow`, real ones, in a temporary folder.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "skald/env.h"

namespace skald::host {

// A new folder in the system's place for such, removed with everything in it. Unavailable (DATA_FOLDER).
class DemoFolder {
 public:
  DemoFolder();
  ~DemoFolder();
  DemoFolder(const DemoFolder&) = delete;
  DemoFolder& operator=(const DemoFolder&) = delete;
  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

class DemoShop {
 public:
  // Makes the repositories, each with a commit on main. Unavailable (NO_GIT) where there is no git, or it says no.
  DemoShop(const Clock& clock, std::filesystem::path folder);

  std::filesystem::path path(std::string_view repository) const { return folder_ / repository; }
  // A file as main has it; empty where it has none.
  std::string on_main(std::string_view repository, std::string_view file) const;
  int commits_on_main(std::string_view repository) const;
  // Branches, refs and worktrees but for main itself, in words.
  std::vector<std::string> left_behind() const;

 private:
  std::string git(std::string_view repository, std::vector<std::string> words) const;

  const Clock& clock_;
  std::filesystem::path folder_;
};

void write_file(const std::filesystem::path& path, std::string_view text);
std::string read_file(const std::filesystem::path& path);  // empty where there is none

}  // namespace skald::host
