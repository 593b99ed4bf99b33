#include "crash/served_process.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

namespace skald::crash {
namespace {

std::string first_line(int descriptor) {
  std::string line;
  char byte = 0;
  while (read(descriptor, &byte, 1) == 1 && byte != '\n') line += byte;
  return byte == '\n' ? line : "";
}

pid_t spawn(std::vector<std::string>& words, int out) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_addclosefrom_np(&actions, STDERR_FILENO + 1);
  pid_t pid = -1;
  const int failure = posix_spawn(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failure != 0) throw std::runtime_error("cannot start " + words[0]);
  return pid;
}

}  // namespace

ServedProcess::ServedProcess(std::vector<std::string> words) {
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  pid_ = spawn(words, out[1]);
  close(out[1]);
  url_ = first_line(out[0]);
  close(out[0]);
  if (!url_.empty()) port_ = static_cast<std::uint16_t>(std::stoul(url_.substr(url_.rfind(':') + 1)));
  else reap(0);
}

ServedProcess::~ServedProcess() {
  if (pid_ > 0) kill_hard();
}

void ServedProcess::reap(int options) {
  pid_t got = 0;
  while ((got = waitpid(pid_, nullptr, options)) < 0 && errno == EINTR) {}
  if (got == pid_) pid_ = -1;
}

bool ServedProcess::ended() {
  if (pid_ > 0) reap(WNOHANG);
  return pid_ < 0;
}

void ServedProcess::kill_hard() {
  signal(SIGKILL);
  if (pid_ > 0) reap(0);
}

void ServedProcess::stop() {
  signal(SIGTERM);
  if (pid_ > 0) reap(0);
}

void ServedProcess::signal(int which) const {
  if (pid_ > 0) kill(pid_, which);
}

std::optional<test::HttpAnswer> ServedProcess::ask(const std::string& method, const std::string& target,
                                                   const std::string& body, const std::vector<std::string>& headers,
                                                   int patience_seconds) const {
  try {
    return test::http_request(port_, method, target, body, headers, patience_seconds);
  } catch (const std::runtime_error&) {
    return std::nullopt;  // dead, or stopped
  }
}

std::string ServedProcess::get(const std::string& target) const {
  const auto answer = test::http_request(port_, "GET", target);
  if (answer.status != 200) throw std::runtime_error("GET " + target + " was answered " + answer.body);
  return answer.body;
}

void ServedProcess::send(const std::string& method, const std::string& target, const std::string& body,
                         int expected) const {
  const auto answer = test::http_request(port_, method, target, body);
  if (answer.status != expected)
    throw std::runtime_error(method + " " + target + " was answered " + std::to_string(answer.status) + " " +
                             answer.body);
}

}  // namespace skald::crash
