#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "process/process_table.h"
#include "process/spawn.h"
#include "skald/process.h"

namespace skald {
namespace {

using process::Child;
using process::Descriptor;
using process::Pipe;

constexpr Duration kDeathMax = 10s;  // of one that was killed; the kernel may hold it in a call to a disk

class Conversation {
 public:
  Conversation(const Clock& clock, const Command& command) : clock_(clock), command_(command) {}

  CommandResult hold() {
    if (!start()) return std::move(result_);
    Instant end = clock_.steady() + command_.timeout;
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
                             .signal_at_our_death = SIGTERM});
    if (!child_.refused.empty()) {
      result_.exit_code = 127;
      result_.err = child_.refused;
      return false;
    }
    in_ = std::move(in.in);
    out_ = std::move(out.out);
    err_ = std::move(err.out);
    for (const Descriptor* one : {&in_, &out_, &err_}) process::make_nonblocking(*one);
    if (command_.input.empty()) in_.close();
    return true;
  }

  // poll() passes over a descriptor that is closed: its number is -1.
  void exchange(Duration longest) {
    std::array<pollfd, 4> ready{
        {{child_.ended.get(), POLLIN, 0}, {in_.get(), POLLOUT, 0}, {out_.get(), POLLIN, 0}, {err_.get(), POLLIN, 0}}};
    if (poll(ready.data(), ready.size(), process::poll_timeout(longest)) <= 0) return;
    if (ready[1].revents != 0) feed();
    if (ready[2].revents != 0) take(out_, result_.out, INT_MAX);
    if (ready[3].revents != 0) take(err_, result_.err, INT_MAX);
    ended_ = ready[0].revents != 0;
  }

  void feed() {
    const process::BrokenPipesUnheard unheard;
    const ssize_t written = write(in_.get(), command_.input.data() + fed_, command_.input.size() - fed_);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written > 0) fed_ += static_cast<std::size_t>(written);
    if (written < 0 || fed_ == command_.input.size()) in_.close();
  }

  // What is there, `bytes_max` at most; returns how much that was.
  int take(Descriptor& from, std::string& to, int bytes_max) {
    std::array<char, 65536> buffer;
    const ssize_t got = read(from.get(), buffer.data(), std::min<std::size_t>(buffer.size(), std::size_t(bytes_max)));
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return 0;
    if (got <= 0) {
      from.close();
      return 0;
    }
    const std::size_t kept = std::min(static_cast<std::size_t>(got), command_.output_max - to.size());
    to.append(buffer.data(), kept);
    if (kept < static_cast<std::size_t>(got)) result_.truncated = true;
    return static_cast<int>(got);
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
    drain(out_, result_.out);
    drain(err_, result_.err);
  }

  // What lies in the pipe now. Its end is not waited for: one that left the group may hold the pipe open, and write.
  void drain(Descriptor& from, std::string& to) {
    int left = 0;
    if (!from || ioctl(from.get(), FIONREAD, &left) != 0) return;
    while (left > 0 && from) {
      const int got = take(from, to, left);
      if (got == 0) return;
      left -= got;
    }
  }

  const Clock& clock_;
  const Command& command_;
  CommandResult result_;
  Child child_;
  Descriptor in_, out_, err_;
  std::size_t fed_ = 0;
  bool ended_ = false;
};

}  // namespace

CommandResult run_command(const Clock& clock, const Command& command) {
  process::check_command(command.argv, command.folder, command.variables);
  return Conversation(clock, command).hold();
}

}  // namespace skald
