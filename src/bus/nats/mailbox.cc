#include "bus/nats/mailbox.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <ctime>
#include <map>
#include <system_error>
#include <utility>
#include <vector>

namespace skald {
namespace {

struct Sessions {
  std::mutex mutex;
  std::uintptr_t last = 0;
  std::map<std::uintptr_t, std::weak_ptr<NatsMailbox>> open;
};

// Never destroyed: the library's threads may outlive main().
Sessions& sessions() {
  static Sessions& all = *new Sessions;
  return all;
}

// The library frees a message in a thread of its own, which is woken for each that is
// destroyed while it sleeps. So they are destroyed many at a time.
class Bin {
 public:
  void put(natsMsg* message) {
    std::vector<natsMsg*> full;
    {
      const std::lock_guard lock(mutex_);
      kept_.push_back(message);
      bytes_ += static_cast<std::size_t>(natsMsg_GetDataLength(message));
      if (kept_.size() < kMessagesMax && bytes_ < kBytesMax) return;
      full.swap(kept_);
      bytes_ = 0;
    }
    empty(full);
  }

 private:
  static constexpr std::size_t kMessagesMax = 64, kBytesMax = 1 << 20;
  static void empty(const std::vector<natsMsg*>& messages) {
    for (natsMsg* message : messages) natsMsg_Destroy(message);
  }

  std::mutex mutex_;
  std::vector<natsMsg*> kept_;
  std::size_t bytes_ = 0;
};

std::string_view view(const char* text) { return text == nullptr ? std::string_view() : text; }

}  // namespace

// Never destroyed, as above.
void discard(natsMsg* message) {
  static Bin& bin = *new Bin;
  bin.put(message);
}

std::string_view NatsMessage::reply() const { return view(natsMsg_GetReply(message_.get())); }

std::string_view NatsMessage::body() const {
  return {natsMsg_GetData(message_.get()), static_cast<std::size_t>(natsMsg_GetDataLength(message_.get()))};
}

std::string_view NatsMessage::header(const char* name) const {
  const char* value = nullptr;
  return natsMsgHeader_Get(message_.get(), name, &value) == NATS_OK ? view(value) : std::string_view();
}

NatsMailbox::NatsMailbox(const Env& env, std::chrono::milliseconds pause_min, std::chrono::milliseconds pause_max)
    : env_(env), pause_min_(pause_min), pause_max_(pause_max), fd_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  if (fd_ < 0) throw std::system_error(errno, std::generic_category(), "eventfd");
}

NatsMailbox::~NatsMailbox() { ::close(fd_); }

void NatsMailbox::put(Entry entry) {
  {
    const std::lock_guard lock(mutex_);
    if (entry.kind == Kind::message && entries_.size() >= kEntriesMax) {
      env_.observer.count("nats_messages_dropped_total");
      return;
    }
    entries_.push_back(std::move(entry));
    if (std::exchange(told_, true)) return;
  }
  const std::uint64_t one = 1;
  [[maybe_unused]] const auto written = ::write(fd_, &one, sizeof one);
}

std::chrono::milliseconds NatsMailbox::pause(int attempt) const {
  const int doublings = std::clamp(attempt - 1, 0, 20);
  const auto full = std::min<std::int64_t>(pause_max_.count(), pause_min_.count() << doublings);
  // Between a half and the whole, so that many clients do not come back at once.
  const auto half = full / 2;
  return std::chrono::milliseconds(
      full - static_cast<std::int64_t>(env_.random.next() % static_cast<std::uint64_t>(half + 1)));
}

std::optional<NatsMailbox::Entry> NatsMailbox::take() {
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return std::nullopt;
  Entry entry = std::move(entries_.front());
  entries_.pop_front();
  return entry;
}

bool NatsMailbox::is_empty() const {
  const std::lock_guard lock(mutex_);
  return entries_.empty();
}

void NatsMailbox::wait(Duration longest, std::span<const int> others) {
  {
    const std::lock_guard lock(mutex_);
    if (!entries_.empty()) return;
    std::uint64_t count = 0;
    if (told_ && ::read(fd_, &count, sizeof count) > 0) told_ = false;  // else the write is on its way still
  }
  std::vector<pollfd> fds{{fd_, POLLIN, 0}};
  for (int fd : others) fds.push_back({fd, POLLIN, 0});
  const auto micros = std::max<std::int64_t>(longest.count(), 0);
  const timespec timeout{.tv_sec = static_cast<time_t>(micros / 1'000'000),
                         .tv_nsec = static_cast<long>(micros % 1'000'000 * 1000)};
  ::ppoll(fds.data(), fds.size(), &timeout, nullptr);
}

std::uintptr_t NatsMailbox::begin_session(const std::shared_ptr<NatsMailbox>& mailbox) {
  const std::lock_guard lock(sessions().mutex);
  sessions().open.emplace(++sessions().last, mailbox);
  return sessions().last;
}

void NatsMailbox::end_session(std::uintptr_t session) {
  const std::lock_guard lock(sessions().mutex);
  sessions().open.erase(session);
}

std::shared_ptr<NatsMailbox> NatsMailbox::of_session(std::uintptr_t session) {
  const std::lock_guard lock(sessions().mutex);
  const auto found = sessions().open.find(session);
  return found == sessions().open.end() ? nullptr : found->second.lock();
}

}  // namespace skald
