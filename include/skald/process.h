// Other programs, run from this one: short ones that are waited for, some that are talked with, and long ones that
// outlive it.
//
//   const CommandResult log = run_command(clock, {.argv = {"git", "log", "-1"}, .folder = path});
//   if (!log.ok()) throw Refused("GIT_FAILED", log.err);
//
//   Runs runs(clock, data / "runs", {"/proc/self/exe", "agent-run"});
//   runs.start({.id = "work-7.1.1", .argv = {"sh", "-c", script}, .folder = tree, .timeout = 1h});
//   …this process is killed and started again…
//   if (const auto run = runs.look("work-7.1.1"); run && run->end) …
//
// No shell stands in between: a word is an argument, whatever is in it. A program gets the variables that it is given
// and no others, none of our descriptors, and a process group of its own.
//
// A run has a supervisor: this same program, started anew, which calls supervise(). It belongs to nobody, holds a lock
// on the run's folder while it lives, keeps output and end on disk, and ends every process that the run has left behind.
// Arguments, variables, input and secrets go to it by memory and are never on disk. The program finds one variable more,
// SKALD_RUN: by it what is left of a run is found when its supervisor has died.
//
// | what happens                             | what look() says                                            |
// | it exits with 0                          | FINISHED                                                    |
// | it exits with another code               | EXITED, exit_code                                           |
// | a signal ends it, or stop(), or its time | KILLED, signal, and exit_code if it exits by itself; `why`  |
// |                                          | says who                                                    |
// | its supervisor dies, or the machine      | INTERRUPTED; what is left of it is ended by the next look() |
// | it cannot be started (no such program)   | EXITED 127 with the reason in `why`                         |
// | stop() or prevent() comes before it      | KILLED without a signal; it never begins                    |
// | has begun                                |                                                             |
// | its starter died before the launch       | no pid and no end: start() again launches it                |
// | it writes more than output_max           | the rest is thrown away; output_lost counts it              |
// | the disk is full                         | it goes on; output_lost counts what was not kept            |
// | its last bytes may begin a secret        | they are kept when more comes, or at its end; lost where    |
// |                                          | its supervisor dies before                                  |
//
// Thread safety: all may be called from any thread, and from several processes on one folder.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/env.h"
#include "skald/json.h"

namespace skald {

using Variables = std::map<std::string, std::string>;

struct Command {
  // [0] is looked for in PATH of `variables`, or else in the usual places; relative places in PATH are passed over.
  std::vector<std::string> argv;
  std::string folder = {};  // where it works; empty: here
  Variables variables = {};
  std::string input = {};  // on its standard input, which then ends
  Duration timeout = 60s;  // then its whole group is killed
  std::size_t output_max = 16 << 20;  // bytes that are kept of each output; the rest is read and thrown away
  bool survives_us = false;  // where this process dies, it goes on to its end; else it gets SIGTERM
};

struct CommandResult {
  int exit_code = 0;  // 127: it could not be started, and `err` says why
  int signal = 0;  // that ended it; 0: none
  bool timed_out = false;
  bool truncated = false;  // more than output_max
  std::string out, err;
  bool ok() const { return exit_code == 0 && signal == 0 && !timed_out; }
};

// Waits until it and its whole group have ended: what it has left behind there is killed. One that has left the group
// (setsid) is not waited for.
// Throws Unavailable (NO_PROCESS) where the machine has no room for one more; Invalid (BAD_COMMAND) where argv is empty
// or a word holds a NUL.
CommandResult run_command(const Clock& clock, const Command& command);

// A program that is talked with: lines go to its standard input, lines come from its standard output.
//
//   Dialogue dialogue(clock, {.argv = {"bc"}});
//   const Instant deadline = clock.steady() + 5s;
//   if (dialogue.send("6 * 7", deadline)) answer = dialogue.receive_line(deadline);
//
// Of the Command, `input` is sent first, and output_max bounds a line and what is kept of its standard error, of which
// that is the end; `timeout` counts for nothing: every call has its own. The program dies with the thread that has
// started it. One that has left its group is not followed.
//
// | what happens                           | what the caller sees                                         |
// | it cannot be started                   | Refused CANNOT_START by the constructor                      |
// | it does not read                       | send(): false at the deadline                                |
// | it is silent                           | receive_line(): nullopt at the deadline, has_ended() is false |
// | it ends, or closes its output          | what it has said, then nullopt at once, has_ended() is true   |
// | it says a line that is too long        | Refused LINE_TOO_LONG                                        |
// | it does not want to end                | SIGTERM, then SIGKILL to its group                           |
//
// Thread safety: one thread at a time.
class Dialogue {
 public:
  // Throws as run_command() does, and Refused (CANNOT_START) with the reason.
  Dialogue(const Clock& clock, const Command& command);
  ~Dialogue();  // end() without grace
  Dialogue(const Dialogue&) = delete;
  Dialogue& operator=(const Dialogue&) = delete;

  // Adds the line's end. False: it has not taken it all by then, or has ended.
  bool send(std::string_view line, Instant deadline);
  // Without its end; the last one may have had none.
  std::optional<std::string> receive_line(Instant deadline);
  bool has_ended() const;
  // Closes its input, which asks it to end; after half of the grace SIGTERM says so, after the whole of it SIGKILL.
  // Returns when its whole group has ended: how it ended, and `err`. `timed_out`: it was killed. A second call says the
  // same.
  const CommandResult& end(Duration grace);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

enum class RunOutcome { FINISHED, EXITED, KILLED, INTERRUPTED };
BOOST_DESCRIBE_ENUM(RunOutcome, FINISHED, EXITED, KILLED, INTERRUPTED)

struct RunSpec {
  std::string id;  // [A-Za-z0-9._-]{1,120}, not beginning with a dot: a folder's name
  std::vector<std::string> argv;
  std::string folder;
  Variables variables = {};
  std::string input = {};
  Duration timeout = 1h;  // then it is stopped as by stop()
  Duration grace = 5s;  // between SIGTERM and SIGKILL
  std::int64_t output_max = 64 << 20;  // bytes on disk
  std::vector<std::string> secrets = {};  // that are *** in its output (skald/secret_mask.h)
};

struct RunEnd {
  RunOutcome outcome = RunOutcome::FINISHED;
  std::optional<int> exit_code = {}, signal = {};
  std::string why = {};  // a sentence, where there is more to say
  Time at = {};
};
BOOST_DESCRIBE_STRUCT(RunEnd, (), (outcome, exit_code, signal, why, at))

struct RunView {
  std::string id;
  std::int64_t pid = 0;  // of the program itself; 0: it has not begun
  std::optional<Time> started_at = {};
  std::int64_t output_bytes = 0, output_lost = 0;
  std::optional<RunEnd> end = {};  // none: it runs, or is about to
};
BOOST_DESCRIBE_STRUCT(RunView, (), (id, pid, started_at, output_bytes, output_lost, end))

class Runs {
 public:
  // Makes the folder (0700). `supervisor` is the command that calls supervise(); the run's folder is its last argument.
  // Unavailable (RUNS_FOLDER, NO_WATCH).
  Runs(const Clock& clock, std::string folder, std::vector<std::string> supervisor);
  ~Runs();
  Runs(const Runs&) = delete;
  Runs& operator=(const Runs&) = delete;

  // Returns once its supervisor has it. A run of that id that is there, running or ended, is left as it is: starting
  // twice is starting once, also from two processes, also where the first starter died in between. Invalid (BAD_RUN_ID,
  // as all of these; BAD_COMMAND); Unavailable (RUN_NOT_STARTED, NO_PROCESS, RUNS_FOLDER): start it again.
  void start(const RunSpec& spec);
  // It is told to end (SIGTERM to its group, SIGKILL after its grace), and `why` is kept. Returns at once; no such run,
  // or an ended one: nothing. Of several reasons the first is kept. Others of its group than the program have their
  // grace, too.
  void stop(std::string_view id, std::string_view why);
  // The same, also for a run that nobody has started yet: whoever starts it then finds that it has ended.
  void prevent(std::string_view id, std::string_view why);
  // None: no such run. Unavailable (RUN_NOT_SETTLED): it is interrupted, and what is left of it does not end.
  std::optional<RunView> look(std::string_view id);
  std::vector<std::string> list() const;  // sorted
  // Bytes of both its outputs, as they came, from `offset` on. None where there are none, or no such run.
  std::string output(std::string_view id, std::int64_t offset, std::size_t bytes_max) const;
  // Readable when a run may have begun, ended or written (inotify). changed() makes it unreadable again, and says which
  // began or ended since, or lost its supervisor: look() at them.
  int fd() const;
  std::vector<std::string> changed();
  // Removes an ended run's folder, or one that was never launched. Conflict (RUN_LIVES) where it runs.
  void forget(std::string_view id);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

// The body of a supervisor, to be called at once by a program that start() has started and that does nothing else: all
// its children are taken to be the run's. Returns its exit code when the run has ended and is on disk. Ignores SIGTERM,
// SIGINT and SIGHUP: who wants the run to end says stop().
int supervise(const std::string& run_folder);

}  // namespace skald
