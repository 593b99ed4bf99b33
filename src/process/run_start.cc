#include "process/run_start.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>

#include "process/run_spec_text.h"
#include "process/small_file.h"
#include "process/spawn.h"

namespace skald::process {
namespace {

constexpr Duration kTakeMax = 15s;

[[noreturn]] void not_written(const std::string& path, int error) {
  throw Unavailable("RUNS_FOLDER", "'" + path + "' cannot be written: " + reason_of(error));
}

// Different in processes, too, of which one was forked from the other and has its generator.
std::string new_token(const Clock& clock, Random& random) {
  return fmt::format("{:x}-{:x}-{:016x}", to_micros(clock.now()), getpid(), random.next());
}

// A folder under construction, which nobody takes for a run, named after its maker: what dies here is swept up by the
// next Runs.
RunFolder make_scratch(const std::string& runs_folder) {
  std::string path = fmt::format("{}/.new-{}-XXXXXX", runs_folder, getpid());
  if (mkdtemp(path.data()) == nullptr) not_written(runs_folder, errno);
  return RunFolder(path);
}

// It is locked from the first moment that others can see it.
Descriptor fill(const RunFolder& scratch, const std::string& token) {
  Descriptor lock(open(scratch.file("lock").c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!lock || flock(lock.get(), LOCK_EX | LOCK_NB) != 0) not_written(scratch.path(), errno);
  if (const int error = write_small_file(scratch.path(), "asked", to_json(RunAsked{token}), Durable::yes))
    not_written(scratch.path(), error);
  return above_given(std::move(lock));
}

std::string complaint(const RunFolder& run) {
  const std::string log = read_small_file(run.file("log")).value_or("");
  return log.empty() ? "it said nothing" : log.substr(log.size() > 500 ? log.size() - 500 : 0);
}

[[noreturn]] void not_started(const RunFolder& run, const std::string& why) {
  throw Unavailable("RUN_NOT_STARTED", "the supervisor of the run in '" + run.path() + "' did not start (" + why +
                                           "): start it again, it runs once");
}

}  // namespace

Descriptor ask_for_run(const Clock& clock, Random& random, const std::string& runs_folder, const RunFolder& run) {
  if (run.has("lock")) return run.try_lock(RunFolder::LockFor::supervisor);
  const RunFolder scratch = make_scratch(runs_folder);
  std::error_code ignored;
  try {
    Descriptor lock = fill(scratch, new_token(clock, random));
    if (rename(scratch.path().c_str(), run.path().c_str()) == 0) {
      if (const int error = sync_folder(runs_folder)) not_written(runs_folder, error);
      return lock;
    }
    if (errno != EEXIST && errno != ENOTEMPTY) not_written(run.path(), errno);
  } catch (...) {
    std::filesystem::remove_all(scratch.path(), ignored);
    throw;
  }
  std::filesystem::remove_all(scratch.path(), ignored);
  return {};
}

void launch_supervisor(const Clock& clock, const RunFolder& run, const RunSpec& spec,
                       const std::vector<std::string>& supervisor, const Descriptor& lock) {
  const Descriptor given = memory_file(spec_text(spec));
  const Descriptor log(
      above_given(Descriptor(open(run.file("log").c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600))));
  Pipe taken = make_pipe();
  std::vector<std::string> argv = supervisor;
  argv.push_back(run.path());
  const Child launched = spawn({.argv = argv,
                                .folder = {},
                                .variables = {},
                                .in = given.get(),
                                .out = taken.in.get(),
                                .err = log.get(),
                                .lock = lock.get(),
                                .detached = true});
  if (!launched.refused.empty()) not_started(run, launched.refused);
  taken.in.close();
  pollfd ready{taken.out.get(), POLLIN, 0};
  for (const Instant latest = clock.steady() + kTakeMax; ready.revents == 0;) {
    const Duration left = latest - clock.steady();
    if (left <= Duration::zero()) not_started(run, "it took too long");
    if (poll(&ready, 1, poll_wait(left)) < 0 && errno != EINTR) not_started(run, reason_of(errno));
  }
  char answer = 0;
  if (read(taken.out.get(), &answer, 1) != 1 && !run.has("supervised")) not_started(run, complaint(run));
}

}  // namespace skald::process
