#include "process/spawn.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace skald::process {
namespace {

constexpr const char* kUsualPlaces = "/usr/local/bin:/usr/bin:/bin";

constexpr int kEndUnknown = 255;  // somebody else in this process reaps our children: no success may be made of that

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

// Relative places are left out: the folder it works in may be a stranger's.
std::vector<std::string> candidates(const Launch& launch) {
  const std::string& name = launch.argv.front();
  if (name.find('/') != std::string::npos) return {name};
  const auto given = launch.variables.find("PATH");
  std::string_view places = given == launch.variables.end() ? std::string_view(kUsualPlaces) : given->second;
  std::vector<std::string> out;
  while (!places.empty()) {
    const std::string_view place = places.substr(0, places.find(':'));
    if (place.starts_with('/')) out.push_back(std::string(place) + '/' + name);
    places.remove_prefix(std::min(places.size(), place.size() + 1));
  }
  return out;
}

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> out;
  for (std::string& word : words) out.push_back(word.data());
  out.push_back(nullptr);
  return out;
}

// Made before vfork(): a child may not allocate.
struct Prepared {
  explicit Prepared(const Launch& launch) : paths(candidates(launch)), words(launch.argv), folder(launch.folder) {
    for (const auto& [name, value] : launch.variables) settings.push_back(name + '=' + value);
    path_pointers = pointers(paths);
    argv = pointers(words);
    environment = pointers(settings);
  }
  std::vector<std::string> paths, words, settings;
  std::vector<char*> path_pointers, argv, environment;
  std::string folder;
};

enum class Stage { set_up, folder, exec };
struct Refusal {
  Stage stage;
  int error;
};

// From here to exec only what is safe after vfork() in a process with threads: the child has our memory, and the thread
// that made it stands still until then.

[[noreturn]] void refuse(int tell, Stage stage, int error) {
  const Refusal refusal{stage, error};
  [[maybe_unused]] const ssize_t told = write(tell, &refusal, sizeof refusal);
  _exit(127);
}

void reset_signals() {
  struct sigaction usual{};
  usual.sa_handler = SIG_DFL;
  for (int number = 1; number < NSIG; ++number) sigaction(number, &usual, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

int exec_first(const Prepared& prepared) {
  int error = ENOENT;
  for (char* const* path = prepared.path_pointers.data(); *path != nullptr; ++path) {
    execve(*path, prepared.argv.data(), prepared.environment.data());
    if (errno != ENOENT && errno != ENOTDIR) error = errno;
    if (errno != ENOENT && errno != ENOTDIR && errno != EACCES) break;
  }
  return error;
}

[[noreturn]] void become(const Launch& launch, const Prepared& prepared, pid_t parent, int tell) {
  if (setsid() < 0) refuse(tell, Stage::set_up, errno);
  if (launch.detached) {
    const pid_t pid = vfork();
    if (pid < 0) refuse(tell, Stage::set_up, errno);
    if (pid > 0) _exit(0);
  }
  if (launch.signal_at_our_death != 0) {
    prctl(PR_SET_PDEATHSIG, launch.signal_at_our_death);
    if (getppid() != parent) _exit(127);  // it died before it could be heard of
  }
  if (dup2(launch.in, STDIN_FILENO) < 0 || dup2(launch.out, STDOUT_FILENO) < 0 || dup2(launch.err, STDERR_FILENO) < 0)
    refuse(tell, Stage::set_up, errno);
  const int last_given = launch.lock < 0 ? STDERR_FILENO : kLockOfSupervisor;
  if (launch.lock >= 0 && dup2(launch.lock, kLockOfSupervisor) < 0) refuse(tell, Stage::set_up, errno);
  if (close_range(last_given + 1, ~0U, CLOSE_RANGE_CLOEXEC) != 0) refuse(tell, Stage::set_up, errno);
  if (!prepared.folder.empty() && chdir(prepared.folder.c_str()) != 0) refuse(tell, Stage::folder, errno);
  reset_signals();
  refuse(tell, Stage::exec, exec_first(prepared));
}

// A signal that arrives between vfork() and exec would run our handlers in the child.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// A copy of our memory, as fork() makes one, takes longer than git does: only a run's supervisor is worth it.
[[gnu::noinline]] pid_t begin(const Launch& launch, const Prepared& prepared, int tell) {
  const SignalsBlocked blocked;
  const pid_t parent = getpid();
  // Who makes a detached one calls vfork() again. In one memory the two would share what a sanitizer's vfork() keeps until
  // it returns: this process would go on where the other one ends.
  const pid_t pid = launch.detached ? fork() : vfork();
  if (pid == 0) become(launch, prepared, parent, tell);
  return pid;
}

std::string sentence(const Launch& launch, const Refusal& refusal) {
  switch (refusal.stage) {
    case Stage::folder: return "cannot work in '" + launch.folder + "': " + reason_of(refusal.error);
    case Stage::exec: return "cannot run '" + launch.argv.front() + "': " + reason_of(refusal.error);
    case Stage::set_up: break;
  }
  return "cannot set up a process for '" + launch.argv.front() + "': " + reason_of(refusal.error);
}

}  // namespace

void check_command(const std::vector<std::string>& argv, const std::string& folder, const Variables& variables) {
  const auto refuse_it = [](const std::string& why) { throw Invalid("BAD_COMMAND", why); };
  if (argv.empty() || argv.front().empty()) refuse_it("a command needs a program to run: name it first");
  for (const std::string& word : argv)
    if (has_nul(word)) refuse_it("an argument holds a NUL byte, which no program can be given: remove it");
  if (has_nul(folder)) refuse_it("the folder's name holds a NUL byte: remove it");
  for (const auto& [name, value] : variables)
    if (name.empty() || name.find('=') != std::string::npos || has_nul(name) || has_nul(value))
      refuse_it("a variable needs a name without '=', and neither name nor value may hold a NUL byte");
}

Child spawn(const Launch& launch) {
  const Prepared prepared(launch);
  Pipe told = make_pipe();
  const pid_t pid = begin(launch, prepared, told.in.get());
  int error = errno;
  if (pid < 0) throw Unavailable("NO_PROCESS", "no process could be started: " + reason_of(error));
  told.in.close();
  Child child{pid, Descriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0))), {}};
  error = errno;
  Refusal refusal{};
  ssize_t got = 0;
  while ((got = read(told.out.get(), &refusal, sizeof refusal)) < 0 && errno == EINTR) {}
  if (got == sizeof refusal) {
    reap(child);
    return {-1, {}, sentence(launch, refusal)};
  }
  if (launch.detached) {
    reap(child);
    return {};
  }
  if (!child.ended) {
    kill(-pid, SIGKILL);
    reap(child);
    throw Unavailable("NO_PROCESS", "a process could not be watched: " + reason_of(error));
  }
  return child;
}

Ended look_at_end(const Child& child) {
  siginfo_t info{};
  int answer = 0;
  while ((answer = waitid(P_PID, static_cast<id_t>(child.pid), &info, WEXITED | WNOWAIT)) < 0 && errno == EINTR) {}
  if (answer < 0) return {kEndUnknown, 0};
  if (info.si_code == CLD_EXITED) return {info.si_status, 0};
  return {0, info.si_status};
}

void reap(const Child& child) {
  while (waitpid(child.pid, nullptr, 0) < 0 && errno == EINTR) {}
}

}  // namespace skald::process
