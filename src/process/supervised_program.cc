#include "process/supervised_program.h"

#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "process/process_table.h"
#include "process/small_file.h"

namespace skald::process {
namespace {

constexpr Duration kDescendantsDeathMax = 30s;
constexpr Duration kLookAtGroup = 20ms;  // whether it is empty; nothing tells us
constexpr Duration kLookForStop = 1s;    // where the kernel has no watch left for us

// A child that ends is heard of by a descriptor.
Descriptor child_signals() {
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, nullptr);
  return Descriptor(signalfd(-1, &child, SFD_CLOEXEC | SFD_NONBLOCK));
}

Descriptor watch_for_files(const std::string& folder) {
  Descriptor watch(inotify_init1(IN_CLOEXEC | IN_NONBLOCK));
  if (watch && inotify_add_watch(watch.get(), folder.c_str(), IN_CREATE | IN_MOVED_TO) < 0) watch.close();
  return watch;
}

void empty(const Descriptor& descriptor) {
  std::array<char, 4096> buffer;
  while (descriptor && read(descriptor.get(), buffer.data(), buffer.size()) > 0) {}
}

// Orphans of the run come to us (PR_SET_CHILD_SUBREAPER). The program itself is reaped last, so that its number, and
// that of its group, stay taken.
void reap_orphans(pid_t program) {
  for (;;) {
    siginfo_t info{};
    if (waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid == 0 || info.si_pid == program) return;
    waitpid(info.si_pid, nullptr, WNOHANG);
  }
}

}  // namespace

SupervisedProgram::SupervisedProgram(const Clock& clock, const RunFolder& run, const RunSpec& spec, RunOutput& output)
    : clock_(clock),
      run_(run),
      spec_(spec),
      output_(output),
      mask_(spec.secrets),
      stops_(watch_for_files(run.path())),
      children_(child_signals()),
      limit_(clock.steady() + spec.timeout) {}

RunEnd SupervisedProgram::run_to_end() {
  if (const auto why = run_.stop_reason()) return {.outcome = RunOutcome::KILLED, .why = *why, .at = clock_.now()};
  if (!start()) return end_;
  note_begun();
  follow();
  end_ = outcome();
  kill(-child_.pid, SIGKILL);
  reap(child_);
  if (!end_descendants()) end_.why += (end_.why.empty() ? "" : "; ") + std::string("a process of it cannot be ended");
  from_program_.read_rest();
  output_.add(mask_.rest());
  end_.at = clock_.now();
  return end_;
}

bool SupervisedProgram::start() {
  Pipe in = make_pipe(), out = make_pipe();
  Launch launch{.argv = spec_.argv,
                .folder = spec_.folder,
                .variables = spec_.variables,
                .in = in.out.get(),
                .out = out.in.get(),
                .err = out.in.get(),
                .signal_at_our_death = SIGKILL};
  if (const auto asked = run_.asked()) launch.variables[kRunVariable] = asked->token;
  try {
    child_ = spawn(launch);
  } catch (const Unavailable& error) {
    child_.refused = error.what();
  }
  if (!child_.refused.empty()) {
    end_ = {.outcome = RunOutcome::EXITED, .exit_code = 127, .why = child_.refused, .at = clock_.now()};
    return false;
  }
  input_ = Feed(std::move(in.in), spec_.input);
  from_program_ = PipeReader(std::move(out.out), [this](std::string_view bytes) { output_.add(mask_.pass(bytes)); });
  return true;
}

void SupervisedProgram::note_begun() const {
  const auto row = process_row(child_.pid);
  const RunBegun begun{.pid = child_.pid, .ticks = row ? row->started : 0, .boot = boot_id(), .at = clock_.now()};
  write_small_file(run_.path(), "begun", to_json(begun), Durable::no);  // a full disk does not stop the run
}

void SupervisedProgram::follow() {
  while (!all_ended()) {
    exchange(until_next_deadline());
    reap_orphans(child_.pid);
    keep_deadlines();
  }
}

// Those of the group that clean up after SIGTERM have their grace, also when the program itself was quicker.
bool SupervisedProgram::all_ended() { return ended_ && (!kill_at_ || killed_ || !group_lives(child_.pid)); }

Duration SupervisedProgram::until_next_deadline() const {
  const Instant next = killed_ ? clock_.steady() + 1s : kill_at_.value_or(limit_);
  Duration longest = std::max<Duration>(next - clock_.steady(), 0s);
  if (ended_) longest = std::min<Duration>(longest, kLookAtGroup);
  if (!stops_) longest = std::min<Duration>(longest, kLookForStop);
  return longest;
}

// poll() passes over what is closed or waited for no more: its number is -1.
void SupervisedProgram::exchange(Duration longest) {
  std::array<pollfd, 5> ready{{{ended_ ? -1 : child_.ended.get(), POLLIN, 0},
                               {input_.descriptor(), POLLOUT, 0},
                               {from_program_.descriptor(), POLLIN, 0},
                               {stops_.get(), POLLIN, 0},
                               {children_.get(), POLLIN, 0}}};
  if (poll(ready.data(), ready.size(), poll_wait(longest)) < 0) return;
  if (ready[1].revents != 0) input_.write_some();
  if (ready[2].revents != 0) from_program_.read_some();
  if (ready[3].revents != 0) empty(stops_);
  if (ready[4].revents != 0) empty(children_);
  if (ready[0].revents != 0) ended_ = true;
  const bool may_stop = !ended_ && !kill_at_ && (ready[3].revents != 0 || !stops_);
  if (const auto why = may_stop ? run_.stop_reason() : std::nullopt) ask_to_end(*why);
}

void SupervisedProgram::keep_deadlines() {
  const Instant now = clock_.steady();
  if (!ended_ && !kill_at_ && now >= limit_)
    ask_to_end("its time of " + std::to_string(std::chrono::ceil<std::chrono::seconds>(spec_.timeout).count()) +
               " s was over");
  if (kill_at_ && !killed_ && now >= *kill_at_) {
    kill(-child_.pid, SIGKILL);
    killed_ = true;
  }
}

void SupervisedProgram::ask_to_end(std::string why) {
  end_.why = std::move(why);
  kill_at_ = clock_.steady() + spec_.grace;
  kill(-child_.pid, SIGTERM);
}

// A descendant whose parent has ended is our child; so none is left when no child is.
bool SupervisedProgram::end_descendants() {
  for (const Instant latest = clock_.steady() + kDescendantsDeathMax; clock_.steady() < latest;) {
    pid_t reaped = 0;
    while ((reaped = waitpid(-1, nullptr, WNOHANG)) > 0) {}
    if (reaped < 0 && errno == ECHILD) return true;
    for (const ProcessRow& row : descendants_of(getpid()))
      if (!row.dead()) kill_exactly(row);
    empty(children_);
    poll(nullptr, 0, 2);
  }
  return false;
}

RunEnd SupervisedProgram::outcome() const {
  const Ended ended = look_at_end(child_);
  RunEnd out{.outcome = RunOutcome::FINISHED, .why = end_.why, .at = {}};
  if (ended.signal == 0) out.exit_code = ended.exit_code;
  if (kill_at_ || ended.signal != 0) {
    out.outcome = RunOutcome::KILLED;
    out.signal = ended.signal != 0 ? ended.signal : SIGTERM;
    if (!kill_at_) out.why = "signal " + std::to_string(ended.signal) + " (" + strsignal(ended.signal) + ") ended it";
  } else if (ended.exit_code != 0) {
    out.outcome = RunOutcome::EXITED;
  }
  return out;
}

}  // namespace skald::process
