#include <poll.h>
#include <signal.h>

#include <algorithm>
#include <array>

#include "process/feed.h"
#include "process/pipe_reader.h"
#include "process/process_table.h"
#include "process/spawn.h"
#include "skald/process.h"

namespace skald {
namespace {

using process::Child;
using process::Descriptor;
using process::Pipe;
using process::PipeReader;

constexpr Duration kTimeoutMax = 24h * 365;
constexpr Duration kDeathMax = 10s;  // of one that was killed; the kernel may hold it in a call to a disk

class Conversation {
 public:
  Conversation(const Clock& clock, const Command& command) : clock_(clock), command_(command) {}

  CommandResult hold() {
    if (!start()) return std::move(result_);
    Instant end = clock_.steady() + std::min<Duration>(command_.timeout, kTimeoutMax);
    while (!ended_) {
      const Duration left = end - clock_.steady();
      if (left <= Duration::zero()) {
        if (result_.timed_out) return std::move(result_);  // killed in vain
        result_.timed_out = true;
        kill(-child_.pid, SIGKILL);
        end = clock_.steady() + kDeathMax;
        continue;
      }
      exchange(left);
    }
    finish();
    return std::move(result_);
  }

 private:
  bool start() {
    Pipe in = process::make_pipe(), out = process::make_pipe(), err = process::make_pipe();
    child_ = process::spawn({.argv = command_.argv,
                             .folder = command_.folder,
                             .variables = command_.variables,
                             .in = in.out.get(),
                             .out = out.in.get(),
                             .err = err.in.get(),
                             .signal_at_our_death = command_.survives_us ? 0 : SIGTERM});
    if (!child_.refused.empty()) {
      result_.exit_code = 127;
      result_.err = child_.refused;
      return false;
    }
    input_ = process::Feed(std::move(in.in), command_.input);
    out_ = reader(std::move(out.out), result_.out);
    err_ = reader(std::move(err.out), result_.err);
    return true;
  }

  // poll() passes over a descriptor that is closed: its number is -1.
  void exchange(Duration longest) {
    std::array<pollfd, 4> ready{{{child_.ended.get(), POLLIN, 0},
                                 {input_.descriptor(), POLLOUT, 0},
                                 {out_.descriptor(), POLLIN, 0},
                                 {err_.descriptor(), POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), process::poll_wait(longest)) <= 0) return;
    if (ready[1].revents != 0) input_.write_some();
    if (ready[2].revents != 0) out_.read_some();
    if (ready[3].revents != 0) err_.read_some();
    ended_ = ready[0].revents != 0;
  }

  PipeReader reader(Descriptor from, std::string& to) {
    return {std::move(from), [this, &to](std::string_view bytes) {
              const std::string_view kept = bytes.substr(0, command_.output_max - to.size());
              to += kept;
              if (kept.size() < bytes.size()) result_.truncated = true;
            }};
  }

  // The child is reaped last: until then nobody else can have the number of its group.
  void finish() {
    const process::Ended end = process::look_at_end(child_);
    result_.exit_code = end.exit_code;
    result_.signal = end.signal;
    kill(-child_.pid, SIGKILL);
    process::reap(child_);
    const Instant latest = clock_.steady() + kDeathMax;
    while (process::group_lives(child_.pid) && clock_.steady() < latest) poll(nullptr, 0, 1);
    out_.read_rest();
    err_.read_rest();
  }

  const Clock& clock_;
  const Command& command_;
  CommandResult result_;
  Child child_;
  process::Feed input_;
  PipeReader out_, err_;
  bool ended_ = false;
};

}  // namespace

CommandResult run_command(const Clock& clock, const Command& command) {
  process::check_command(command.argv, command.folder, command.variables);
  return Conversation(clock, command).hold();
}

}  // namespace skald
