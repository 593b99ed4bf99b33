#include "process/run_watch.h"

#include <dirent.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/inotify.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <memory>

namespace skald::process {
namespace {

constexpr std::size_t kWatchesMax = 4096;
constexpr std::uint32_t kOfFolder = IN_MOVED_TO | IN_MOVED_FROM | IN_DELETE | IN_ONLYDIR;
constexpr std::uint32_t kOfRun = IN_MOVED_TO | IN_MODIFY | IN_CLOSE_WRITE | IN_ONLYDIR;
constexpr Duration kLetGoMax = 200ms;
constexpr int kReadsMax = 64;  // runs may write faster than we read; the rest is read next time

void add_to(const Descriptor& epoll, const Descriptor& one) {
  epoll_event event{};
  event.events = EPOLLIN;
  if (epoll_ctl(epoll.get(), EPOLL_CTL_ADD, one.get(), &event) != 0)
    throw Unavailable("NO_WATCH", "runs cannot be watched: " + reason_of(errno));
}

}  // namespace

bool is_run_id(std::string_view id) {
  const auto fits = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  return !id.empty() && id.size() <= 120 && id.front() != '.' && std::all_of(id.begin(), id.end(), fits);
}

std::vector<std::string> run_names(const std::string& folder) {
  std::vector<std::string> out;
  const std::unique_ptr<DIR, int (*)(DIR*)> open_folder(opendir(folder.c_str()), closedir);
  while (const dirent* entry = open_folder ? readdir(open_folder.get()) : nullptr)
    if (is_run_id(entry->d_name)) out.push_back(entry->d_name);
  std::sort(out.begin(), out.end());
  return out;
}

RunWatch::RunWatch(const Clock& clock, std::string folder)
    : clock_(clock),
      folder_(std::move(folder)),
      events_(inotify_init1(IN_CLOEXEC | IN_NONBLOCK)),
      tick_(timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK)),
      either_(epoll_create1(EPOLL_CLOEXEC)) {
  if (!events_ || !tick_ || !either_ || inotify_add_watch(events_.get(), folder_.c_str(), kOfFolder) < 0)
    throw Unavailable("NO_WATCH", "the runs in '" + folder_ + "' cannot be watched: " + reason_of(errno) +
                                      "; raise fs.inotify.max_user_instances or max_user_watches");
  add_to(either_, events_);
  add_to(either_, tick_);
  std::vector<std::string> not_new;
  for (const std::string& id : run_names(folder_)) look_at(id, Supervisor::unsuspected, not_new);
  tick_if_unwatched();
}

std::vector<std::string> RunWatch::changed() {
  const std::lock_guard hold(mutex_);
  Events events = take_events();
  if (events.all) {
    for (const std::string& id : run_names(folder_)) events.runs[id] = Supervisor::doubtful;
    for (const auto& [id, known] : known_) events.runs[id] = Supervisor::doubtful;
  }
  std::vector<std::string> news;
  for (const auto& [id, supervisor] : events.runs) look_at(id, supervisor, news);
  tick_if_unwatched();
  return news;
}

RunWatch::Events RunWatch::take_events() {
  Events out;
  std::uint64_t ticks = 0;
  if (read(tick_.get(), &ticks, sizeof ticks) > 0) out.all = true;
  alignas(inotify_event) std::array<char, 65536> buffer;
  for (int reads = 0; reads < kReadsMax; ++reads) {
    const ssize_t got = read(events_.get(), buffer.data(), buffer.size());
    if (got <= 0) break;
    for (ssize_t at = 0; at < got;) {
      inotify_event event;
      std::memcpy(&event, buffer.data() + at, sizeof event);
      const std::string name = event.len > 0 ? buffer.data() + at + sizeof event : "";
      at += static_cast<ssize_t>(sizeof event + event.len);
      note(event, name, out);
    }
  }
  return out;
}

void RunWatch::note(const inotify_event& event, const std::string& name, Events& events) {
  if ((event.mask & IN_Q_OVERFLOW) != 0) events.all = true;
  const auto watched = watched_.find(event.wd);
  if (watched != watched_.end()) {
    Supervisor& supervisor = events.runs[watched->second];
    if (name == "lock" && (event.mask & IN_CLOSE_WRITE) != 0) supervisor = Supervisor::has_closed_lock;
    if ((event.mask & IN_IGNORED) != 0) unwatch(known_[watched->second]);
  } else if (is_run_id(name)) {
    events.runs[name];
    // Another of its name may have come since, with a watch of its own.
    if ((event.mask & (IN_MOVED_FROM | IN_DELETE)) != 0) {
      unwatch(known_[name]);
      known_.erase(name);
    }
  }
}

// The watch comes first and the look second, so that nothing happens unseen between them.
void RunWatch::look_at(const std::string& id, Supervisor supervisor, std::vector<std::string>& news) {
  const RunFolder run(folder_ + "/" + id);
  Known& known = known_[id];
  if (!known.ended && known.watch < 0) watch_run(id, known);
  if (!run.has("asked")) {
    unwatch(known);
    known_.erase(id);
    return;
  }
  const bool begun = run.has("begun"), ended = run.has("end");
  if (begun != known.begun || ended != known.ended || (!ended && is_abandoned(run, supervisor))) news.push_back(id);
  known.begun = begun;
  known.ended = ended;
  if (ended) unwatch(known);
}

// The kernel tells of the closing a moment before it gives the lock back.
bool RunWatch::is_abandoned(const RunFolder& run, Supervisor supervisor) const {
  if (supervisor == Supervisor::unsuspected || !run.has("supervised")) return false;
  const Instant latest = clock_.steady() + (supervisor == Supervisor::has_closed_lock ? kLetGoMax : Duration(0));
  for (;;) {
    if (run.try_lock()) return !run.has("end");
    if (clock_.steady() >= latest) return false;
    poll(nullptr, 0, 1);
  }
}

void RunWatch::watch_run(const std::string& id, Known& known) {
  if (watched_.size() >= kWatchesMax) return;
  known.watch = inotify_add_watch(events_.get(), (folder_ + "/" + id).c_str(), kOfRun);
  if (known.watch >= 0) watched_[known.watch] = id;
}

void RunWatch::unwatch(Known& known) {
  if (known.watch < 0) return;
  inotify_rm_watch(events_.get(), known.watch);
  watched_.erase(known.watch);
  known.watch = -1;
}

void RunWatch::tick_if_unwatched() {
  const bool blind = std::any_of(known_.begin(), known_.end(),
                                 [](const auto& one) { return !one.second.ended && one.second.watch < 0; });
  if (blind == ticking_) return;
  ticking_ = blind;
  itimerspec every{};
  every.it_value.tv_sec = every.it_interval.tv_sec = blind ? 1 : 0;
  timerfd_settime(tick_.get(), 0, &every, nullptr);
}

}  // namespace skald::process
