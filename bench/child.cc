#include "child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>
#include <utility>

#include "measure.h"

namespace bench {

Child::Child(const std::vector<std::string>& command) {
  int to[2], from[2];
  if (pipe2(to, O_CLOEXEC) != 0 || pipe2(from, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  std::vector<char*> argv;
  for (const std::string& word : command) {
    argv.push_back(const_cast<char*>(word.c_str()));
    command_ += word + " ";
  }
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    dup2(to[0], STDIN_FILENO);
    dup2(from[1], STDOUT_FILENO);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(to[0]);
  close(from[1]);
  to_ = to[1];
  from_ = from[0];
  if (pid_ < 0) throw std::runtime_error("cannot fork");
}

Child::~Child() {
  close(to_);
  close(from_);
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void Child::expect(const std::string& word, double seconds) {
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(seconds * 1e9);
  for (;;) {
    if (const auto line_end = heard_.find('\n'); line_end != std::string::npos) {
      const std::string line = heard_.substr(0, line_end);
      heard_.erase(0, line_end + 1);
      if (line == word) return;
      throw std::runtime_error(command_ + "said '" + line + "' instead of '" + word + "'");
    }
    const auto left_ms = (end - now_ns()) / 1'000'000;
    pollfd ready{from_, POLLIN, 0};
    if (left_ms <= 0 || poll(&ready, 1, static_cast<int>(left_ms)) <= 0)
      throw std::runtime_error(command_ + "did not say '" + word + "' in time");
    char buffer[4096];
    const ssize_t size = read(from_, buffer, sizeof buffer);
    if (size <= 0) throw std::runtime_error(command_ + "ended without saying '" + word + "'");
    heard_.append(buffer, static_cast<std::size_t>(size));
  }
}

std::string Child::hear_out() {
  char buffer[4096];
  for (ssize_t size = 0; (size = read(from_, buffer, sizeof buffer)) > 0;)
    heard_.append(buffer, static_cast<std::size_t>(size));
  return std::exchange(heard_, {});
}

void Child::tell(const std::string& word) {
  const std::string line = word + "\n";
  if (write(to_, line.data(), line.size()) != static_cast<ssize_t>(line.size()))
    throw std::runtime_error(command_ + "does not listen");
}

}  // namespace bench
