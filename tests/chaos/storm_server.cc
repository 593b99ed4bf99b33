#include "chaos/storm_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string_view>

namespace skald::chaos {
namespace {

constexpr int kPortFirst = 20'000, kPortLast = 32'000;  // none that the system gives to a client meanwhile
constexpr std::size_t kLastWords = 2'000;

bool is_free(int port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return bound;
}

// Counted on from this process's id, so that two runs at once begin at different places.
std::uint16_t free_port() {
  static int next = kPortFirst + getpid() * 16 % (kPortLast - kPortFirst);
  for (int tries = 0; tries < kPortLast - kPortFirst; ++tries) {
    if (++next > kPortLast) next = kPortFirst;
    if (is_free(next)) return static_cast<std::uint16_t>(next);
  }
  throw std::runtime_error("no port is free");
}

std::vector<char*> pointers_of(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

}  // namespace

StormServer::StormServer(std::string program, std::filesystem::path folder, std::vector<std::string> arguments,
                         Variables variables)
    : folder_(std::move(folder)), port_(free_port()), arguments_(std::move(arguments)) {
  std::filesystem::create_directories(folder_);
  arguments_.insert(arguments_.begin(), {std::move(program), "serve", "--listen", "127.0.0.1:" + std::to_string(port_),
                                         "--data", (folder_ / "data").string()});
  for (char** entry = environ; *entry != nullptr; ++entry)
    if (!std::string_view(*entry).starts_with("SKALD_")) environment_.emplace_back(*entry);
  for (const auto& [name, value] : variables) environment_.push_back(name + "=" + value);
  start();
}

StormServer::~StormServer() {
  if (pid_ < 0) return;
  kill(pid_, SIGKILL);
  reap();
}

void StormServer::start() {
  const auto words = pointers_of(arguments_), variables = pointers_of(environment_);
  const std::string log = (folder_ / "log").string();
  const pid_t parent = getpid();
  pid_ = fork();
  if (pid_ > 0) return;
  if (pid_ < 0) throw std::runtime_error("cannot fork");
  prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody is left behind by a run that is broken off
  if (getppid() != parent) _exit(127);
  const int file = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  dup2(file, STDOUT_FILENO);
  dup2(file, STDERR_FILENO);
  execve(words[0], words.data(), variables.data());
  _exit(127);
}

int StormServer::reap() {
  int status = 0;
  while (waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int StormServer::end() {
  kill(pid_, SIGTERM);
  return reap();
}

void StormServer::start_as(const std::string& program) {
  arguments_.front() = program;
  start();
}

std::optional<int> StormServer::ended() {
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) != 0 || info.si_pid != pid_) return {};
  return reap();
}

void StormServer::kill_and_restart() {
  kill(pid_, SIGKILL);
  reap();
  start();
}

bool StormServer::revive() {
  if (pid_ < 0 || waitpid(pid_, nullptr, WNOHANG) != pid_) return false;
  start();
  return true;
}

std::string StormServer::last_words() const {
  std::ostringstream text;
  text << std::ifstream(folder_ / "log").rdbuf();
  const std::string all = text.str();
  return all.substr(all.size() - std::min(all.size(), kLastWords));
}

}  // namespace skald::chaos
