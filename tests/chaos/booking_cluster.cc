#include "chaos/booking_cluster.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <stdexcept>

#include "runtime/wakeup.h"
#include "support/built.h"

namespace skald::chaos {
namespace {

constexpr int kTries = 5;  // one that needs another which is just being killed ends, and is started again

std::string first_line(const std::filesystem::path& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

}  // namespace

BookingCluster::BookingCluster(const std::string& program) {
  // PostgreSQL runs as a user of its own where this is root.
  std::filesystem::permissions(folder_.path(), std::filesystem::perms(0755));
  up(program);
}

BookingCluster::~BookingCluster() { run({"down"}); }

std::uint16_t BookingCluster::gateway() const {
  return static_cast<std::uint16_t>(std::stoi(first_line(folder_.path() / "user-api" / "port")));
}

std::string BookingCluster::database_url(const std::string& service) const {
  const std::string server = first_line(folder_.path() / "postgres" / "url");
  return server.substr(0, server.rfind('/') + 1) + service;
}

void BookingCluster::kill(const std::string& name) const { run({"kill", name}); }

void BookingCluster::stop(const std::string& service) const {
  if (!run({"stop", service})) throw std::runtime_error(service + " could not be stopped: " + new_lines());
}

void BookingCluster::stop_nats_cleanly() const {
  const std::string pid = first_line(folder_.path() / "nats" / "pid");
  ::kill(std::stoi(pid), SIGTERM);
  // Empty where it has ended, reaped or not.
  while (!first_line("/proc/" + pid + "/cmdline").empty()) runtime::Wakeup().wait(5ms);
}

void BookingCluster::up(const std::string& program) const {
  for (int i = 0; i < kTries; ++i) {
    if (run({"up"}, program)) return;
    std::printf("the cluster did not come up at once:\n%s\n", new_lines().c_str());
  }
  throw std::runtime_error("the cluster does not come up; its logs are in " + folder_.path().string());
}

std::string BookingCluster::new_lines() const {
  std::ifstream log(folder_.path() / "cluster.log");
  log.seekg(read_);
  std::ostringstream out;
  out << log.rdbuf();
  read_ += static_cast<std::streamoff>(out.str().size());
  return out.str();
}

bool BookingCluster::run(std::vector<std::string> words, const std::string& program) const {
  words.insert(words.begin(), {built::kSources + std::string("/tools/cluster.sh"), "--dir", folder_.path().string()});
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  const std::string log = (folder_.path() / "cluster.log").string();
  const pid_t pid = fork();
  if (pid == 0) {
    // What it starts outlives it and must not inherit blocked signals.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    dup2(out, 1);
    dup2(out, 2);
    unsetenv("SKALD_TEST_PG");
    if (!program.empty()) setenv("SKALD_CLUSTER_PROGRAM", program.c_str(), 1);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

}  // namespace skald::chaos
