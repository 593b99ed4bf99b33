#include "end_to_end/skald_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "http/raw_client.h"
#include "support/built.h"

namespace skald::test {
namespace {

struct Child {
  pid_t pid;
  int out, err;
};

// The test's own SKALD_ variables must not leak in, but for those given.
std::vector<std::string> environment_with(const SkaldServer::Variables& variables) {
  std::vector<std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("SKALD_")) out.emplace_back(*entry);
  for (const auto& [name, value] : variables) out.push_back(name + "=" + value);
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Child start(std::vector<std::string> arguments, const SkaldServer::Variables& variables) {
  arguments.insert(arguments.begin(), built::kProgram);
  std::vector<std::string> environment = environment_with(variables);
  const auto argv = pointers(arguments), envp = pointers(environment);
  int out[2], err[2];
  if (pipe2(out, O_CLOEXEC) != 0 || pipe2(err, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  const pid_t pid = fork();
  if (pid == 0) {
    dup2(out[1], 1);
    dup2(err[1], 2);
    execve(argv[0], argv.data(), envp.data());
    _exit(127);
  }
  close(out[1]);
  close(err[1]);
  return {pid, out[0], err[0]};
}

bool append_from(int descriptor, std::string& to) {
  char bytes[4096];
  const auto got = read(descriptor, bytes, sizeof bytes);
  if (got > 0) to.append(bytes, static_cast<std::size_t>(got));
  return got > 0;
}

int exit_status(pid_t pid) {
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::uint16_t served_port(const std::string& log) {
  const std::size_t serving = log.find("\"message\":\"serving\"");
  const std::size_t line_end = serving == log.npos ? log.npos : log.find('\n', serving);
  if (line_end == log.npos) return 0;
  constexpr std::string_view mark = "\"address\":\"http://127.0.0.1:";
  const std::size_t at = log.find(mark, serving);
  return at == log.npos ? 0 : static_cast<std::uint16_t>(std::stoul(log.substr(at + mark.size())));
}

}  // namespace

bool HttpAnswer::is_problem() const {
  return head.find("application/problem+json") != head.npos && body.find("\"code\":\"") != body.npos;
}

HttpAnswer http_request(std::uint16_t port, const std::string& method, const std::string& target,
                        const std::string& body, const std::vector<std::string>& headers, int patience_seconds) {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(port) + "\r\n";
  if (!body.empty()) text += "Content-Type: application/json\r\n";
  for (const std::string& header : headers) text += header + "\r\n";
  text += "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  http::RawClient client(port, patience_seconds);
  client.send(text);  // a server that has seen enough may close before all of it is sent
  const std::string answer = client.read_response(method != "HEAD");
  const std::size_t end = answer.find("\r\n\r\n");
  // Where nobody listens any more, a connection within the machine may have come to itself, and reads what it wrote.
  if (end == answer.npos || answer.size() < 12 || !answer.starts_with("HTTP/1."))
    throw std::runtime_error("no answer to " + method + " " + target);
  return {std::stoi(answer.substr(9, 3)), answer.substr(0, end), answer.substr(end + 4)};
}

SkaldServer::SkaldServer(std::vector<std::string> arguments, Variables variables) {
  arguments.insert(arguments.begin(), {"serve", "--listen", "127.0.0.1:0"});
  const Child child = start(std::move(arguments), variables);
  pid_ = child.pid;
  errors_ = child.err;
  close(child.out);
  while ((port_ = served_port(log_)) == 0) {
    if (read_log()) continue;
    wait();
    throw std::runtime_error("skald serve ended: " + log_);
  }
}

SkaldServer::~SkaldServer() {
  if (pid_ > 0) kill_hard();
  close(errors_);
}

bool SkaldServer::read_log() { return append_from(errors_, log_); }

const std::string& SkaldServer::log() {
  pollfd ready{errors_, POLLIN, 0};
  while (poll(&ready, 1, 0) > 0 && read_log()) {}
  return log_;
}

int SkaldServer::wait() {
  const int status = exit_status(pid_);
  pid_ = -1;
  return status;
}

int SkaldServer::stop() {
  kill(pid_, SIGTERM);
  while (read_log()) {}
  return wait();
}

void SkaldServer::kill_hard() {
  kill(pid_, SIGKILL);
  wait();
}

CommandResult run_skald(const std::vector<std::string>& arguments, const SkaldServer::Variables& variables,
                        SkaldServer* beside) {
  const Child child = start(arguments, variables);
  CommandResult result;
  bool out_open = true, err_open = true;
  while (out_open || err_open) {
    pollfd ready[3] = {{out_open ? child.out : -1, POLLIN, 0},
                       {err_open ? child.err : -1, POLLIN, 0},
                       {beside != nullptr ? beside->log_descriptor() : -1, POLLIN, 0}};
    poll(ready, 3, -1);
    if (ready[2].revents != 0) beside->log();
    if (ready[0].revents != 0) out_open = append_from(child.out, result.out);
    if (ready[1].revents != 0) err_open = append_from(child.err, result.err);
  }
  close(child.out);
  close(child.err);
  result.status = exit_status(child.pid);
  return result;
}

}  // namespace skald::test
