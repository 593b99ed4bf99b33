#include "chaos/service_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "support/free_port.h"

namespace skald::chaos {
namespace {

constexpr std::size_t kLastWords = 2'000;

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

ServiceProcess::ServiceProcess(std::string program, std::filesystem::path folder, std::vector<std::string> arguments,
                               Variables variables)
    : folder_(std::move(folder)), port_(test::free_port()), arguments_(std::move(arguments)) {
  std::filesystem::create_directories(folder_);
  arguments_.insert(arguments_.begin(), {std::move(program), "serve", "--listen", "127.0.0.1:" + std::to_string(port_),
                                         "--data", (folder_ / "data").string()});
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("SKALD_")) environment_.emplace_back(*entry);
  for (const auto& [name, value] : variables) environment_.push_back(name + "=" + value);
  start();
}

ServiceProcess::~ServiceProcess() {
  if (runs()) kill();
}

void ServiceProcess::start() {
  const auto words = pointers_of(arguments_), variables = pointers_of(environment_);
  const std::string log = (folder_ / "log").string();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ > 0) return;
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left behind by a run that is broken off
  if (getppid() != parent) _exit(127);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execve(words[0], words.data(), variables.data());
  _exit(127);
}

void ServiceProcess::kill() {
  signal(SIGKILL);
  reap();
}

void ServiceProcess::kill_and_restart() {
  kill();
  start();
}

void ServiceProcess::signal(int number) const { ::kill(pid_, number); }

void ServiceProcess::freeze() { signal(SIGSTOP); }

void ServiceProcess::wake() { signal(SIGCONT); }

int ServiceProcess::reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int ServiceProcess::end() {
  signal(SIGTERM);
  return reap();
}

void ServiceProcess::start_as(const std::string& program) {
  arguments_.front() = program;
  start();
}

std::optional<int> ServiceProcess::ended() {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_) return {};
  return reap();
}

std::optional<int> ServiceProcess::revive() {
  int status = 0;
  if (!runs() || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  start();
  return status;
}

std::string ServiceProcess::last_words() const {
  std::ostringstream text;
  text << std::ifstream(folder_ / "log").rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() - std::min(all.size(), kLastWords));
}

}  // namespace skald::chaos
