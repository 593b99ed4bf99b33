// One child process: vfork (a detached one: fork), exec, and what of ours it may have, which is nothing but what is given here.
//
// The child leads a session and a group of its own, so it has no terminal to ask at and one kill() reaches all that it
// starts. Signals are as a fresh process has them. Ours is a child that nobody else waits for: its end is seen by a
// pidfd, and SIGCHLD is left alone.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "process/descriptor.h"
#include "skald/process.h"

namespace skald::process {

struct Launch {
  std::vector<std::string> argv;
  std::string folder;
  Variables variables;
  int in = -1, out = -1, err = -1;  // become its standard ones
  int signal_at_our_death = 0;  // of the thread that spawns, to be exact
  int lock = -1;  // becomes kLockOfSupervisor
  bool detached = false;  // nobody's child: it outlives us, and Child has nothing to wait for
};

struct Child {
  pid_t pid = -1;  // and its group
  Descriptor ended;  // a pidfd, readable when it has ended
  std::string refused;  // why exec did not happen; then the rest is not set
};

// Invalid (BAD_COMMAND): a word that cannot be handed over.
void check_command(const std::vector<std::string>& argv, const std::string& folder, const Variables& variables);

// Returns once it runs the program, or has said why not. Throws Unavailable (NO_PROCESS).
Child spawn(const Launch& launch);

// The status of wait(2), once the pidfd is readable. The child is not reaped, so its number and that of its group stay
// taken.
struct Ended {
  int exit_code = 0, signal = 0;
};
Ended look_at_end(const Child& child);
// Gives the number back.
void reap(const Child& child);

}  // namespace skald::process
