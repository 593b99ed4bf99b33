// A database, a data folder and two repositories, and agentflow processes on them.
#pragma once

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "crash/agentflow_doom.h"
#include "crash/served_process.h"
#include "skald/env.h"
#include "support/test_database.h"

namespace skald::crash {

class FlowScene {
 public:
  explicit FlowScene(Dialect dialect, std::int64_t lease_ms = 1000, std::int64_t beat_ms = 150);

  // `place`: what a process leaves behind in its folder is for the next one of that place.
  std::unique_ptr<ServedProcess> start(Doom doom = {}, int place = 0) const;

  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string data() const { return path("flow"); }
  // git's answer without its last line's end; std::runtime_error where it says no.
  std::string git(const std::string& where, std::vector<std::string> words) const;
  // Everything in a repository's git folder but objects and logs.
  std::set<std::string> git_files(const std::string& repository) const;
  // Processes that work in this scene's folder or supervise there, and are no servers.
  std::vector<std::string> processes() const;

 private:
  void make_repository(const std::string& where) const;

  const std::unique_ptr<Clock> clock_ = system_clock();
  const std::int64_t lease_ms_, beat_ms_;
  test::TemporaryFolder temporary_;
  const std::string folder_ = std::filesystem::canonical(temporary_.path()).string();
  std::unique_ptr<test::ScratchPostgres> server_;
  std::string database_;
};

std::string text_of_file(const std::string& path);
void write_text(const std::string& path, const std::string& text);

}  // namespace skald::crash
