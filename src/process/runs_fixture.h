// Runs in a folder of their own, with the supervisor that lies above the test program.
#pragma once

#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>

#include "process/process_table.h"
#include "process/small_file.h"
#include "skald/process.h"

namespace skald {

class RunsTest : public testing::Test {
 protected:
  RunsTest() {
    char name[] = "/tmp/skald-runs-XXXXXX";
    place_ = mkdtemp(name);
    runs_.emplace(*clock_, folder(), supervisor());
  }
  ~RunsTest() override {
    for (const std::string& id : runs_->list()) {
      runs_->stop(id, "the test is over");
      EXPECT_TRUE(eventually([&] { return ended(id); })) << id;
    }
    std::filesystem::remove_all(place_);
  }

  static std::vector<std::string> supervisor() {
    const auto built = std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path();
    return {built / "skald-agent-run", "agent-run"};
  }
  std::string folder() const { return place_ + "/runs"; }
  std::string path(const std::string& id, const char* name) const { return folder() + "/" + id + "/" + name; }
  static RunSpec script(const std::string& id, const std::string& text) {
    return {.id = id, .argv = {"sh", "-c", text}, .folder = "/"};
  }

  // A script that reads from the gate waits until somebody opens it, and gets one word.
  std::string gate() const {
    const std::string path = place_ + "/gate";
    EXPECT_TRUE(process::file_exists(path) || mkfifo(path.c_str(), 0600) == 0);
    return path;
  }
  void open_gate() { EXPECT_TRUE(run_command(*clock_, {.argv = {"sh", "-c", "echo open > " + gate()}}).ok()); }

  bool ended(const std::string& id) {
    const auto view = runs_->look(id);
    return view && view->end;
  }
  // One without an end where it does not come.
  RunView end_of(const std::string& id) {
    EXPECT_TRUE(eventually([&] { return ended(id); })) << id << " does not end";
    RunView view = runs_->look(id).value_or(RunView{.id = id});
    if (!view.end) view.end = RunEnd{.why = "none"};
    return view;
  }
  std::string output(const std::string& id) { return runs_->output(id, 0, 64 << 20); }
  // The first line that a run writes, as a number: scripts say their pid there.
  int number_from(const std::string& id) {
    EXPECT_TRUE(eventually([&] { return output(id).find('\n') != std::string::npos; })) << id << " says nothing";
    return std::atoi(output(id).c_str());
  }
  int supervisor_of(const std::string& id) const {
    return std::stoi(process::read_small_file(path(id, "supervised")).value_or("0"));
  }

  static bool lives(pid_t pid) {
    const auto row = process::process_row(pid);
    return row && !row->dead();
  }
  // Looks again until it holds, for half a minute.
  bool eventually(const std::function<bool()>& holds) const {
    for (const Instant latest = clock_->steady() + 30s; clock_->steady() < latest; poll(nullptr, 0, 5))
      if (holds()) return true;
    return false;
  }
  // In a process of its own.
  static pid_t elsewhere(const std::function<void()>& act) {
    const pid_t pid = fork();
    if (pid != 0) return pid;
    try {
      act();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "elsewhere: %s\n", error.what());
      _exit(3);
    }
    _exit(0);
  }
  static int status_of(pid_t pid) {
    int status = 0;
    EXPECT_EQ(waitpid(pid, &status, 0), pid);
    return status;
  }

  const std::unique_ptr<Clock> clock_ = system_clock();
  std::string place_;
  std::optional<Runs> runs_;
};

}  // namespace skald
