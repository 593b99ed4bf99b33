#include "host/provider_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <span>
#include <string_view>
#include <vector>

#include "skald/error.h"

namespace skald::host {
namespace {

constexpr Duration kStartMax = 15s;
constexpr Duration kPauseFirst = 100ms, kPauseMax = 10s;
constexpr Duration kSteadyAfter = 30s;   // who has lived so long gets a new first chance
constexpr Duration kLook = 1h;           // its end wakes us

std::vector<std::string> command_of(const cli::Settings& settings, const std::string& listen) {
  std::vector<std::string> out = {
      "skald",          "sandbox-provider",           "--listen",    listen,
      "--data",         settings.text("data"),        "--log-level", settings.text("log.level"),
      "--http-threads", settings.text("http.threads")};
  if (settings.text("db") == "memory:") out.insert(out.end(), {"--db", "memory:"});
  return out;
}

// Our variables hold secrets, and a payment provider is a stranger to us.
char* const kNoVariables[] = {nullptr};

// Its first line, the address that it listens on; empty where it ends before, or takes too long.
std::string first_line(int descriptor, const Clock& clock) {
  const Instant end = clock.steady() + kStartMax;
  std::string line;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - clock.steady()).count();
    pollfd ready{descriptor, POLLIN, 0};
    if (left <= 0 || (poll(&ready, 1, static_cast<int>(left)) < 0 && errno != EINTR)) return "";
    if (ready.revents == 0) continue;
    char byte = 0;
    if (read(descriptor, &byte, 1) != 1) return "";
    if (byte == '\n') return line;
    line += byte;
  }
}

}  // namespace

ProviderProcess::ProviderProcess(Env env, const cli::Settings& settings)
    : env_(env),
      settings_(settings),
      watching_(
          env, "provider", [this] { return watch(); },
          [this](Duration longest, runtime::Wakeup& wakeup) { wait(longest, wakeup); }) {
  url_ = start("127.0.0.1:0");
  if (url_.empty())
    throw Unavailable("NO_PROVIDER",
                      "the sandbox payment provider did not start; its log is above, or set order.provider");
  env_.observer.gauge("provider_up", 1);
  watching_.start();
}

// The watch first, or it would start what is stopped here.
ProviderProcess::~ProviderProcess() {
  watching_.stop();
  stop();
}

std::string ProviderProcess::start(const std::string& listen) {
  std::vector<std::string> words = command_of(settings_, listen);
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int out[2];
  if (pipe2(out, O_CLOEXEC) != 0) throw Unavailable("NO_PROVIDER", "no pipe for the sandbox provider");
  pid_ = fork();
  if (pid_ == 0) {
    // Only what is safe between fork and exec.
    prctl(PR_SET_PDEATHSIG, SIGKILL);  // what it has answered is on disk
    dup2(out[1], STDOUT_FILENO);
    close_range(STDERR_FILENO + 1, ~0U, 0);  // the server's connections are not the child's
    execve("/proc/self/exe", argv.data(), kNoVariables);
    _exit(127);
  }
  close(out[1]);
  std::string line = pid_ > 0 ? first_line(out[0], env_.clock) : "";
  close(out[0]);
  started_ = env_.clock.steady();
  if (line.empty()) stop();
  else ending_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  return line;
}

void ProviderProcess::stop() {
  if (ending_ >= 0) close(ending_);
  ending_ = -1;
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  pid_ = -1;
}

bool ProviderProcess::has_ended() {
  if (pid_ <= 0) return true;
  if (waitpid(pid_, nullptr, WNOHANG) == 0) return false;
  pid_ = -1;
  stop();
  return true;
}

Duration ProviderProcess::watch() {
  if (!has_ended()) return ending_ >= 0 ? kLook : Duration(1s);
  const Instant now = env_.clock.steady();
  if (up_) {
    note_up(false);
    if (now - started_ > kSteadyAfter) pause_ = {};
    next_start_ = now + pause_;
  }
  if (now < next_start_) return next_start_ - now;
  pause_ = std::clamp(pause_ * 2, kPauseFirst, kPauseMax);
  next_start_ = now + pause_;
  const std::string listen = url_.substr(std::string_view("http://").size());
  if (!start(listen).empty()) note_up(true);
  return Duration::zero();
}

void ProviderProcess::note_up(bool up) {
  up_ = up;
  env_.observer.gauge("provider_up", up ? 1 : 0);
  if (up) {
    env_.observer.log(Observer::Level::info, "the sandbox payment provider runs again");
  } else {
    env_.observer.count("provider_ends_total");
    env_.observer.log(Observer::Level::error,
                      "the sandbox payment provider has ended and is started again; its log is above");
  }
}

void ProviderProcess::wait(Duration longest, runtime::Wakeup& wakeup) const {
  const int others[] = {ending_};
  wakeup.wait(longest, ending_ >= 0 ? std::span<const int>(others) : std::span<const int>());
}

std::string ProviderProcess::missing() const {
  return up_ ? "" : "the sandbox payment provider is down and is started again; its log is in this server's";
}

}  // namespace skald::host
