#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "process/feed.h"
#include "process/pipe_reader.h"
#include "process/process_table.h"
#include "process/spawn.h"
#include "skald/process.h"

namespace skald {
namespace {

constexpr Duration kKilledMax = 10s;  // the kernel may hold one that was killed in a call to a disk

}  // namespace

struct Dialogue::Inside {
  Inside(const Clock& the_clock, const Command& command)
      : clock(the_clock), bytes_max(command.output_max), to_send(command.input) {
    process::check_command(command.argv, command.folder, command.variables);
    process::Pipe in_pipe = process::make_pipe(), out_pipe = process::make_pipe(), err_pipe = process::make_pipe();
    child = process::spawn({.argv = command.argv,
                            .folder = command.folder,
                            .variables = command.variables,
                            .in = in_pipe.out.get(),
                            .out = out_pipe.in.get(),
                            .err = err_pipe.in.get(),
                            .signal_at_our_death = SIGTERM});
    if (!child.refused.empty()) throw Refused("CANNOT_START", child.refused);
    in = std::move(in_pipe.in);
    process::make_nonblocking(in);
    out = process::PipeReader(std::move(out_pipe.out), [this](std::string_view piece) { said += piece; });
    err = process::PipeReader(std::move(err_pipe.out), [this](std::string_view piece) { complain(piece); });
  }

  // Waits for the first thing that happens, and sees to it. poll() passes over a negative descriptor. Where lines are
  // not wanted yet the program has to wait with more of them.
  void exchange(Duration longest) {
    const bool takes_lines = said.size() <= bytes_max;
    std::array<pollfd, 4> ready{{{ended ? -1 : child.ended.get(), POLLIN, 0},
                                 {to_send.empty() ? -1 : in.get(), POLLOUT, 0},
                                 {takes_lines ? out.descriptor() : -1, POLLIN, 0},
                                 {err.descriptor(), POLLIN, 0}}};
    const int happened = poll(ready.data(), ready.size(), ended ? 0 : process::poll_wait(longest));
    if (happened == 0 && ended) out = {};  // one that has left the group may hold it open
    if (happened <= 0) return;
    if (ready[1].revents != 0) feed();
    if (ready[2].revents != 0) out.read_some();
    if (ready[3].revents != 0) err.read_some();
    if (ready[0].revents != 0) ended = true;
  }

  void feed() {
    const ssize_t written = process::write_unhurt(in, to_send);
    if (written < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (written < 0) in.close();
    else to_send.erase(0, static_cast<std::size_t>(written));
  }

  // Cut only now and then: each cut moves all that is kept.
  void complain(std::string_view piece) {
    result.err += piece;
    if (result.err.size() / 2 > bytes_max) cut_complaint();
  }
  void cut_complaint() {
    if (result.err.size() > bytes_max) result.err.erase(0, result.err.size() - bytes_max);
  }

  bool is_over() const { return out.descriptor() < 0; }

  std::optional<std::string> next_line() {
    const std::size_t end = said.find('\n', looked_at);
    looked_at = said.size();
    if (end == said.npos && (!is_over() || said.empty())) {
      if (said.size() > bytes_max) too_long();
      return std::nullopt;
    }
    std::string line = said.substr(0, end);
    if (line.size() > bytes_max) too_long();
    said.erase(0, end == said.npos ? end : end + 1);
    looked_at = 0;
    return line;
  }

  [[noreturn]] void too_long() const {
    throw Refused("LINE_TOO_LONG", "the program has said a line of more than " + std::to_string(bytes_max) +
                                       " bytes, which nobody waits for: let it say less");
  }

  void wait_for_end(Instant latest) {
    while (!ended) {
      const Duration left = latest - clock.steady();
      if (left <= Duration::zero()) return;
      said.clear();  // nobody listens any more
      looked_at = 0;
      exchange(left);
    }
  }

  // The child is reaped last: until then nobody else can have the number of its group.
  void bury() {
    kill(-child.pid, SIGKILL);
    wait_for_end(clock.steady() + kKilledMax);
    if (!ended) return;
    const process::Ended end = process::look_at_end(child);
    result.exit_code = end.exit_code;
    result.signal = end.signal;
    process::reap(child);
    const Instant latest = clock.steady() + kKilledMax;
    while (process::group_lives(child.pid) && clock.steady() < latest) poll(nullptr, 0, 1);
    err.read_rest();
    cut_complaint();
  }

  const Clock& clock;
  const std::size_t bytes_max;
  process::Child child;
  process::Descriptor in;
  process::PipeReader out, err;
  std::string to_send, said;
  std::size_t looked_at = 0;  // of `said`: there is no line's end before it
  bool ended = false, buried = false;
  CommandResult result;
};

Dialogue::Dialogue(const Clock& clock, const Command& command) : inside_(std::make_unique<Inside>(clock, command)) {}

Dialogue::~Dialogue() { end(Duration::zero()); }

bool Dialogue::send(std::string_view line, Instant deadline) {
  inside_->to_send.append(line).append("\n");
  while (!inside_->to_send.empty()) {
    const Duration left = deadline - inside_->clock.steady();
    if (left <= Duration::zero() || inside_->ended || !inside_->in) return false;
    inside_->exchange(left);
  }
  return true;
}

std::optional<std::string> Dialogue::receive_line(Instant deadline) {
  for (;;) {
    if (auto line = inside_->next_line()) return line;
    const Duration left = deadline - inside_->clock.steady();
    if (left <= Duration::zero() || has_ended()) return std::nullopt;
    inside_->exchange(left);
  }
}

bool Dialogue::has_ended() const { return inside_->is_over() && inside_->said.empty(); }

const CommandResult& Dialogue::end(Duration grace) {
  if (std::exchange(inside_->buried, true)) return inside_->result;
  const Instant begin = inside_->clock.steady();
  inside_->in.close();
  inside_->wait_for_end(begin + grace / 2);
  if (!inside_->ended) kill(-inside_->child.pid, SIGTERM);
  inside_->wait_for_end(begin + grace);
  inside_->result.timed_out = !inside_->ended;
  inside_->bury();
  return inside_->result;
}

}  // namespace skald
