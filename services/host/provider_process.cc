#include "host/provider_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <vector>

#include "skald/error.h"

namespace skald::host {
namespace {

std::vector<std::string> command_of(const cli::Settings& settings) {
  std::vector<std::string> out = {
      "skald",          "sandbox-provider",           "--listen",    "127.0.0.1:0",
      "--data",         settings.text("data"),        "--log-level", settings.text("log.level"),
      "--http-threads", settings.text("http.threads")};
  if (settings.text("db") == "memory:") out.insert(out.end(), {"--db", "memory:"});
  return out;
}

// Our variables hold secrets, and a payment provider is a stranger to us.
char* const kNoVariables[] = {nullptr};

// Its first line: the address that it listens on.
std::string first_line(int descriptor) {
  std::string line;
  char byte = 0;
  while (read(descriptor, &byte, 1) == 1 && byte != '\n') line += byte;
  return byte == '\n' ? line : "";
}

}  // namespace

ProviderProcess::ProviderProcess(const cli::Settings& settings) {
  std::vector<std::string> words = command_of(settings);
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
    execve("/proc/self/exe", argv.data(), kNoVariables);
    _exit(127);
  }
  close(out[1]);
  url_ = pid_ > 0 ? first_line(out[0]) : "";
  close(out[0]);
  if (!url_.empty()) return;
  stop();
  throw Unavailable("NO_PROVIDER",
                    "the sandbox payment provider did not start; its log is above, or set order.provider");
}

ProviderProcess::~ProviderProcess() { stop(); }

void ProviderProcess::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGTERM);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {}
  pid_ = -1;
}

}  // namespace skald::host
