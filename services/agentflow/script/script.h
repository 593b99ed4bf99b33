// The agent `scripted`: does what its task's text says, line by line, and asks no AI. For tests and demonstrations.
//
// | line                | what it does                                                                     |
// | say TEXT            | writes the text to the output                                                    |
// | write PATH TEXT     | makes the file of that one line; folders on the way, too                         |
// | append PATH TEXT    | adds the line to the file                                                        |
// | commit MESSAGE      | commits everything that lies in the working folder                               |
// | wait SECONDS        | waits, 86400 at most                                                             |
// | wait-for FILE       | waits until the file is there, an hour at most                                   |
// | fail CODE           | ends with that exit code, 1 to 125                                               |
// | fail-once CODE      | the same, but goes on when the task is run again (a mark in the workflow's space) |
// | cost NUMBER         | tells the cost so far, as the preset reads it                                    |
// | ask TEXT            | asks a person, waits, an hour at most, and writes "answer: …" to the output      |
//
// {answer} in a later line is the last answer.
//
// Empty lines and those that begin with # are passed over. A path is relative and stays in the working folder, also
// through symbolic links, and out of .git. A line that is wrong ends the script with exit code 64 and a sentence that
// names the line.
#pragma once

#include <iosfwd>
#include <string>

#include "skald/env.h"
#include "skald/process.h"

namespace agentflow {

struct ScriptPlace {
  std::string folder;           // where it works
  skald::Variables variables;   // SKALD_SPACE, SKALD_WORK, SKALD_TASK, SKALD_MAILBOX; and PATH and HOME for git
};

// Returns its exit code. `in` is the script, of 1 MiB at most.
int run_script(const skald::Clock& clock, const ScriptPlace& place, std::istream& in, std::ostream& out,
               std::ostream& err);

}  // namespace agentflow
