// What /proc says of the processes of this machine (of this container).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace skald::process {

struct ProcessRow {
  pid_t pid = 0, parent = 0, group = 0;
  char state = ' ';
  std::int64_t started = 0;  // ticks since the machine's start: with the pid, it names a process for good
  bool dead() const { return state == 'Z' || state == 'X'; }  // a zombie waits for its parent to take note of it
};

// None: there is no such process.
std::optional<ProcessRow> process_row(pid_t pid);
std::vector<pid_t> all_processes();
// Whether one of the group still lives, zombies aside.
bool group_lives(pid_t group);

}  // namespace skald::process
