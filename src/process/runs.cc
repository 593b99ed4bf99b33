#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <filesystem>

#include "process/run_folder.h"
#include "process/run_leftovers.h"
#include "process/run_start.h"
#include "process/run_watch.h"
#include "process/small_file.h"
#include "process/spawn.h"
#include "skald/text.h"

namespace skald {

using namespace process;

namespace {

constexpr Duration kLockWait = 15s, kLockLook = 5ms;
constexpr Duration kDurationMax = 24h * 365;
constexpr std::size_t kWhyMax = 1000, kSpecMax = 64 << 20;

std::string made_folder(const std::string& folder) {
  std::error_code error;
  const std::filesystem::path path = std::filesystem::absolute(folder, error);
  if (!path.parent_path().empty()) std::filesystem::create_directories(path.parent_path(), error);
  if (mkdir(path.c_str(), 0700) != 0 && errno != EEXIST)
    throw Unavailable("RUNS_FOLDER", "'" + path.string() + "' cannot be made: " + reason_of(errno));
  return path.string();
}

// Whether nobody makes that folder any more: its maker, whom it is named after, is dead. The lock is asked as well, for
// the maker may be of a container where others have these numbers.
bool is_given_up(const RunFolder& scratch, std::string_view maker) {
  pid_t pid = 0;
  std::from_chars(maker.data(), maker.data() + maker.size(), pid);
  if (pid > 0 && (kill(pid, 0) == 0 || errno != ESRCH)) return false;
  return !scratch.has("lock") || scratch.try_lock();
}

// What starters and forgetters that died have left half made or half removed.
void sweep(const std::string& folder) {
  constexpr std::string_view kMade = ".new-", kRemoved = ".gone-";
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    const bool is_rest = name.starts_with(kRemoved) ||
                         (name.starts_with(kMade) &&
                          is_given_up(RunFolder(entry.path().string()), std::string_view(name).substr(kMade.size())));
    if (is_rest) std::filesystem::remove_all(entry.path(), error);
  }
}

RunSpec checked(const RunSpec& spec) {
  check_command(spec.argv, spec.folder, spec.variables);
  std::size_t size = spec.input.size();
  for (const std::string& word : spec.argv) size += word.size();
  for (const auto& [name, value] : spec.variables) size += name.size() + value.size();
  for (const std::string& secret : spec.secrets) size += secret.size();
  if (size > kSpecMax)
    throw Invalid("BAD_COMMAND", "arguments, variables, secrets and input of a run are " + std::to_string(kSpecMax) +
                                     " bytes at most: put what is large into a file");
  RunSpec out = spec;
  out.timeout = std::clamp<Duration>(spec.timeout, 0s, kDurationMax);
  out.grace = std::clamp<Duration>(spec.grace, 0s, kDurationMax);
  out.output_max = std::max<std::int64_t>(spec.output_max, 0);
  return out;
}

std::int64_t size_of(const std::string& path) {
  struct stat found{};
  return stat(path.c_str(), &found) == 0 ? found.st_size : 0;
}

// The caller holds the lock, so no supervisor lives. None: it was asked for and nobody has launched it yet.
std::optional<RunEnded> settled(const Clock& clock, const RunFolder& run) {
  if (auto ended = run.ended()) return ended;
  if (run.has("supervised")) return end_interrupted(clock, run);
  if (const auto why = run.stop_reason()) return end_unbegun(clock, run, *why);
  return std::nullopt;
}

}  // namespace

struct Runs::Inside {
  Inside(const Clock& given, std::string place, std::vector<std::string> command)
      : clock(given), folder(made_folder(place)), supervisor(std::move(command)), watch(given, folder) {}

  RunFolder run(std::string_view id) const {
    if (!is_run_id(id))
      throw Invalid("BAD_RUN_ID",
                    "a run's id is 1 to 120 letters, digits, '.', '_' or '-' and does not begin with a "
                    "dot: '" +
                        cut_text(id, 200) + "' is none");
    return RunFolder(folder + "/" + std::string(id));
  }

  const Clock& clock;
  const std::string folder;
  const std::vector<std::string> supervisor;
  const std::unique_ptr<Random> random = system_random();
  RunWatch watch;
};

Runs::Runs(const Clock& clock, std::string folder, std::vector<std::string> supervisor)
    : inside_(std::make_unique<Inside>(clock, std::move(folder), std::move(supervisor))) {
  sweep(inside_->folder);
}

Runs::~Runs() = default;

void Runs::start(const RunSpec& spec) {
  const RunFolder run = inside_->run(spec.id);
  const RunSpec given = checked(spec);
  const Clock& clock = inside_->clock;
  for (const Instant latest = clock.steady() + kLockWait;; poll(nullptr, 0, poll_wait(kLockLook))) {
    if (run.has("supervised") || run.has("end")) return;
    if (const Descriptor lock = ask_for_run(clock, *inside_->random, inside_->folder, run)) {
      // Another starter may have been here between the look and the lock.
      if (!run.has("supervised") && !run.has("end")) launch_supervisor(clock, run, given, inside_->supervisor, lock);
      return;
    }
    if (clock.steady() >= latest)
      throw Unavailable("RUN_NOT_STARTED", "another process has begun to start the run '" + spec.id +
                                               "' and does not come to an end: start it again, it runs once");
  }
}

void Runs::stop(std::string_view id, std::string_view why) {
  const RunFolder run = inside_->run(id);
  if (!run.has("asked") || run.has("end")) return;
  const std::string reason = cut_text(why, kWhyMax);
  int error = write_small_file(run.path(), "stop", reason, Durable::yes, Existing::kept);
  // A full disk has room for an empty file.
  if (error != 0) error = write_small_file(run.path(), "stop", "", Durable::yes, Existing::kept);
  if (error != 0) throw Unavailable("RUNS_FOLDER", "'" + run.path() + "' cannot be written: " + reason_of(error));
  if (const Descriptor lock = run.try_lock()) settled(inside_->clock, run);
}

void Runs::prevent(std::string_view id, std::string_view why) {
  const RunFolder run = inside_->run(id);
  if (!run.has("asked")) ask_for_run(inside_->clock, *inside_->random, inside_->folder, run);
  stop(id, why);
}

std::optional<RunView> Runs::look(std::string_view id) {
  const RunFolder run = inside_->run(id);
  if (!run.has("asked")) return std::nullopt;
  auto ended = run.ended();
  if (!ended)
    if (const Descriptor lock = run.try_lock()) ended = settled(inside_->clock, run);
  RunView view{.id = std::string(id)};
  if (const auto begun = run.begun()) {
    view.pid = begun->pid;
    view.started_at = begun->at;
  }
  view.output_bytes = size_of(run.file("output"));
  view.output_lost = ended ? ended->output_lost : run.lost();
  if (ended) view.end = std::move(ended->end);
  return view;
}

std::vector<std::string> Runs::list() const { return run_names(inside_->folder); }

std::string Runs::output(std::string_view id, std::int64_t offset, std::size_t bytes_max) const {
  const RunFolder run = inside_->run(id);
  const Descriptor file(open(run.file("output").c_str(), O_RDONLY | O_CLOEXEC));
  const std::int64_t from = std::max<std::int64_t>(offset, 0);
  const std::int64_t there = file ? size_of(run.file("output")) - from : 0;
  if (there <= 0) return "";
  std::string out(std::min(bytes_max, static_cast<std::size_t>(there)), '\0');
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got = pread(file.get(), out.data() + done, out.size() - done, from + static_cast<std::int64_t>(done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    done += static_cast<std::size_t>(got);
  }
  out.resize(done);
  return out;
}

int Runs::fd() const { return inside_->watch.descriptor(); }
std::vector<std::string> Runs::changed() { return inside_->watch.changed(); }

// Whoever looks at a run holds its lock for a moment, a supervisor for as long as it lives.
void Runs::forget(std::string_view id) {
  const RunFolder run = inside_->run(id);
  const Clock& clock = inside_->clock;
  Descriptor lock;
  for (const Instant latest = clock.steady() + 1s; run.has("asked");) {
    if ((lock = run.try_lock())) break;
    if (clock.steady() >= latest || (run.has("supervised") && !run.has("end")))
      throw Conflict("RUN_LIVES", "the run '" + std::string(id) + "' has not ended: stop it first");
    poll(nullptr, 0, poll_wait(kLockLook));
  }
  if (!lock) return;
  settled(clock, run);
  const std::string gone = inside_->folder + "/.gone-" + run.asked()->token;
  if (rename(run.path().c_str(), gone.c_str()) != 0)
    throw Unavailable("RUNS_FOLDER", "'" + run.path() + "' cannot be removed: " + reason_of(errno));
  std::error_code error;
  std::filesystem::remove_all(gone, error);
}

}  // namespace skald
