#include "support/nats_server.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

namespace skald::test {
namespace {

// Debian puts it where only root's PATH leads.
std::string program() {
  for (const char* path : {"/usr/sbin/nats-server", "/usr/bin/nats-server", "/usr/local/bin/nats-server"})
    if (access(path, X_OK) == 0) return path;
  throw std::runtime_error("nats-server is not installed; run tools/install.sh test");
}

}  // namespace

std::string shared_nats_url() {
  const char* url = std::getenv("SKALD_TEST_NATS");
  if (url == nullptr)
    throw std::runtime_error("SKALD_TEST_NATS is not set; ./test sets it, or: tools/private_nats.sh start DIR");
  return url;
}

std::string unused_topic() {
  static std::atomic<int> count = 0;
  return "test-" + std::to_string(getpid()) + "-" + std::to_string(++count);
}

NatsServer::NatsServer(std::string settings, int port) : settings_(std::move(settings)), port_(port) { start(); }

NatsServer::~NatsServer() { stop(); }

void NatsServer::start() {
  const std::filesystem::path config = folder() / "server.conf";
  std::ofstream(config) << "listen: \"127.0.0.1:" << port_ << "\"\njetstream { store_dir: \""
                        << (folder() / "store").string() << "\" }\n"
                        << settings_ << "\n";
  const std::string path = program(), name = config.string();
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  // Nobody reads the log once it runs: there must be room for all of it.
  fcntl(ends[0], F_SETPIPE_SZ, 1 << 20);
  pid_ = fork();
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // a test that is killed leaves no server behind
    dup2(ends[1], 2);
    execl(path.c_str(), path.c_str(), "--config", name.c_str(), nullptr);
    _exit(127);
  }
  close(ends[1]);
  log_ = ends[0];
  std::string log;
  while (log.find("Server is ready") == log.npos) {
    char bytes[4096];
    const auto got = read(log_, bytes, sizeof bytes);
    if (got <= 0) throw std::runtime_error("nats-server did not start: " + log);
    log.append(bytes, static_cast<std::size_t>(got));
  }
  const std::string mark = "client connections on 127.0.0.1:";
  port_ = std::stoi(log.substr(log.find(mark) + mark.size()));
}

void NatsServer::stop() { end(SIGKILL); }

void NatsServer::stop_cleanly() { end(SIGTERM); }

void NatsServer::freeze() const { kill(pid_, SIGSTOP); }

void NatsServer::wake() const { kill(pid_, SIGCONT); }

void NatsServer::wipe() const {
  for (const auto& entry : std::filesystem::directory_iterator(folder())) std::filesystem::remove_all(entry);
}

void NatsServer::end(int signal) {
  if (!runs()) return;
  kill(pid_, signal);
  waitpid(pid_, nullptr, 0);
  close(log_);
  pid_ = log_ = -1;
}

}  // namespace skald::test
