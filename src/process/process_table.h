// What /proc says of the processes of this machine (of this container).
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace skald::process {

struct ProcessRow {
  pid_t pid = 0, parent = 0, group = 0, session = 0;
  char state = ' ';
  std::int64_t started = 0;  // ticks since the machine's start: with the pid, it names a process for good
  bool dead() const { return state == 'Z' || state == 'X'; }  // a zombie waits for its parent to take note of it
};

// None: there is no such process.
std::optional<ProcessRow> process_row(pid_t pid);
std::vector<ProcessRow> all_processes();
// Its children and theirs.
std::vector<ProcessRow> descendants_of(pid_t pid);
// Whether it was started with this variable ("NAME=VALUE"). False, too, of those that we may not ask.
bool was_given(pid_t pid, std::string_view variable);
// SIGKILL to this process, and to no other that has its number since.
void kill_exactly(const ProcessRow& row);
// Another after each start of the machine: what is known of processes ends with it.
std::string boot_id();
// Whether one of the group still lives, zombies aside.
bool group_lives(pid_t group);

}  // namespace skald::process
