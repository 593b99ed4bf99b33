// Which runs of a folder have begun or ended, whoever started them. inotify on the folder and on each run that has not
// ended. Where the kernel has no watch left for a run, or its queue ran over, everything is looked at again.
//
// Thread safe.
#pragma once

#include <sys/inotify.h>

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "process/descriptor.h"
#include "process/run_folder.h"
#include "skald/env.h"

namespace skald::process {

class RunWatch {
 public:
  // Unavailable (NO_WATCH). What is there now is not told as new.
  RunWatch(const Clock& clock, std::string folder);

  int descriptor() const { return either_.get(); }
  std::vector<std::string> changed();

 private:
  struct Known {
    bool begun = false, ended = false;
    int watch = -1;
  };
  // Whether its supervisor may have died: only the lock says so, which nothing else does.
  enum class Supervisor { unsuspected, doubtful, has_closed_lock };
  struct Events {
    bool all = false;
    std::map<std::string, Supervisor> runs;
  };

  Events take_events();
  void note(const inotify_event& event, const std::string& name, Events& events);
  void look_at(const std::string& id, Supervisor supervisor, std::vector<std::string>& news);
  void watch_run(const std::string& id, Known& known);
  void unwatch(Known& known);
  void tick_if_unwatched();
  bool is_abandoned(const RunFolder& run, Supervisor supervisor) const;

  const Clock& clock_;
  const std::string folder_;
  Descriptor events_, tick_, either_;    // inotify; a timer; an epoll of both
  std::mutex mutex_;                     // guards what follows
  std::map<std::string, Known> known_;
  std::map<int, std::string> watched_;
  bool ticking_ = false;
};

// The names in a folder that can be those of runs, sorted.
std::vector<std::string> run_names(const std::string& folder);
bool is_run_id(std::string_view id);

}  // namespace skald::process
