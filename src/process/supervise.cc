#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>

#include "process/run_spec_text.h"
#include "process/small_file.h"
#include "process/supervised_program.h"

namespace skald {
namespace {

using namespace process;

constexpr Duration kRoomMax = 60s;       // that the disk may be full when the end is to be written
constexpr std::size_t kReserved = 4096;  // bytes on disk that `end` is sure of

// Those of a terminal and of a service manager: a run ends by stop() alone.
void ignore_signals() {
  for (const int number : {SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGPIPE, SIGUSR1, SIGUSR2, SIGALRM, SIGTSTP})
    signal(number, SIG_IGN);
}

// The starter has locked it for us; should it not have, it is locked here.
Descriptor inherited_lock(const RunFolder& run) {
  Descriptor given(kLockOfSupervisor);
  if (!run.is_lock(given) || flock(given.get(), LOCK_EX | LOCK_NB) != 0)
    throw Invalid("BAD_RUN_SPEC", "a supervisor is started by Runs::start() and not by hand");
  fcntl(given.get(), F_SETFD, FD_CLOEXEC);
  return given;
}

RunSpec inherited_spec() {
  std::string text;
  std::array<char, 65536> buffer;
  for (ssize_t got = 0; (got = read(STDIN_FILENO, buffer.data(), buffer.size())) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return spec_of(text);
}

// The starter may be gone by now: its run goes on.
void confirm() {
  [[maybe_unused]] const ssize_t told = write(STDOUT_FILENO, "1", 1);
  const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
  dup2(nothing.get(), STDIN_FILENO);
  dup2(nothing.get(), STDOUT_FILENO);
}

void must(int error, const char* what) {
  if (error != 0) throw Unavailable("RUN_NOT_STARTED", std::string(what) + ": " + reason_of(error));
}

// Blocks of the disk that are freed again just before the end is written: it finds room on a full disk, too.
class Reserve {
 public:
  explicit Reserve(const RunFolder& run) : path_(run.file(".reserve")) {
    const Descriptor file(open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (file) posix_fallocate(file.get(), 0, kReserved);
  }
  void release() const { unlink(path_.c_str()); }

 private:
  std::string path_;
};

int write_end(const Clock& clock, const RunFolder& run, const RunEnded& ended) {
  const std::string text = to_json(ended);
  const Instant latest = clock.steady() + kRoomMax;
  for (;;) {
    const int error = write_small_file(run.path(), "end", text, Durable::yes);
    if (error == 0) return 0;
    if (clock.steady() >= latest) {
      std::fprintf(stderr, "the end of the run cannot be written: %s\n", reason_of(error).c_str());
      return 1;
    }
    poll(nullptr, 0, 200);
  }
}

int supervise_run(const RunFolder& run) {
  const auto clock = system_clock();
  const Descriptor lock = inherited_lock(run);
  const RunSpec spec = inherited_spec();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  RunOutput output(run, spec.output_max);
  const Reserve reserve(run);
  must(write_small_file(run.path(), "supervised", std::to_string(getpid()) + "\n", Durable::yes),
       "the run's folder cannot be written");
  confirm();
  RunEnd end = SupervisedProgram(*clock, run, spec, output).run_to_end();
  reserve.release();
  return write_end(*clock, run, {.end = std::move(end), .output_lost = output.close()});
}

}  // namespace

int supervise(const std::string& run_folder) {
  ignore_signals();
  try {
    return supervise_run(RunFolder(run_folder));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 2;
  }
}

}  // namespace skald
