#include "chaos/booking_traffic.h"

#include <utility>

#include "chaos/watcher.h"
#include "runtime/wakeup.h"
#include "skald/json.h"

namespace skald::chaos {
namespace {

using std::chrono::steady_clock;

std::string member(const test::HttpAnswer& answer, std::string_view name) {
  return std::string(answer.json().as_object().at(name).as_string());
}

// Nobody knows yet whether it happened, or will.
bool is_open(const test::HttpAnswer& answer) {
  return answer.status >= 500 || answer.status == 429 ||
         (answer.status == 409 && answer.body.find("\"code\":\"KEY_IN_FLIGHT\"") != answer.body.npos);
}

}  // namespace

BookingTraffic::BookingTraffic(std::uint16_t gateway, int per_second, int seconds)
    : gateway_(gateway), per_second_(per_second) {
  // Two and a half players in the middle, and some to spare.
  open_slots(per_second * seconds * 3 / kRoom + 10);
}

BookingTraffic::~BookingTraffic() { stop(); }

void BookingTraffic::open_slots(int count) {
  const std::string course = member(insist("/booking/courses", R"({"name":"Riverside"})", "course"), "id");
  for (int i = 0; i < kPopular; ++i) popular_.push_back(open_slot(course, kPopularRoom, i));
  for (int i = 0; i < count; ++i) slots_.push_back(open_slot(course, kRoom, kPopular + i));
}

std::string BookingTraffic::open_slot(const std::string& course, int players, int number) {
  return member(insist("/booking/slots",
                       R"({"courseId":")" + course + R"(","startsAt":"2090-01-01T09:00:00Z","maxPlayers":)" +
                           std::to_string(players) + R"(,"pricePerPlayer":1000})",
                       "slot-" + std::to_string(number)),
                "id");
}

void BookingTraffic::start() {
  begun_ = steady_clock::now();
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this, i] { shop(i); });
}

void BookingTraffic::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

bool BookingTraffic::pause_until(steady_clock::time_point time) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_until(lock, time, [&] { return stopping_; });
}

void BookingTraffic::shop(int thread) {
  std::mt19937 random(static_cast<unsigned>(thread));
  while (true) {
    const std::int64_t number = next_++;
    const auto due = begun_ + std::chrono::microseconds(1'000'000 * number / per_second_);
    if (!pause_until(due)) {
      --next_;
      return;
    }
    auto& waiting = waiting_since_[static_cast<std::size_t>(thread)];
    {
      const std::lock_guard lock(mutex_);
      waiting = due;
    }
    if (random() % 8 == 0) cancel(number, random);
    else book(number, random);
    const std::lock_guard lock(mutex_);
    longest_wait_ = std::max(longest_wait_, seconds_since(due));
    waiting.reset();
  }
}

double BookingTraffic::take_longest_wait() {
  const std::lock_guard lock(mutex_);
  double out = std::exchange(longest_wait_, 0);
  for (const auto& since : waiting_since_)
    if (since) out = std::max(out, seconds_since(*since));
  return out;
}

void BookingTraffic::book(std::int64_t number, std::mt19937& random) {
  const auto& among = random() % 10 == 0 ? popular_ : slots_;
  const auto answer =
      insist("/booking/bookings",
             R"({"slotId":")" + among[random() % among.size()] + R"(","players":)" + std::to_string(1 + random() % 4) +
                 R"(,"customer":"customer-)" + std::to_string(random() % 500) + "\"}",
             "book-" + std::to_string(number));
  const std::lock_guard lock(mutex_);
  if (answer.status == 202) bookings_.push_back(member(answer, "id"));
  else ++refused_[member(answer, "code")];
}

void BookingTraffic::cancel(std::int64_t number, std::mt19937& random) {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    if (bookings_.empty()) return;
    // One of the last, most often: it may still be on its way.
    const std::size_t back = random() % 2 == 0 ? std::min<std::size_t>(bookings_.size(), 20) : bookings_.size();
    id = bookings_[bookings_.size() - 1 - random() % back];
  }
  const auto answer =
      insist("/booking/bookings/" + id + "/cancel", R"({"reason":"rain"})", "cancel-" + std::to_string(number));
  if (answer.status == 200) ++cancels_;
}

test::HttpAnswer BookingTraffic::insist(const std::string& target, const std::string& body, const std::string& key) {
  while (true) {
    try {
      const auto answer = test::http_request(gateway_, "POST", target, body, {"Idempotency-Key: chaos-" + key}, 5);
      if (!is_open(answer)) return answer;
    } catch (const std::runtime_error&) {
      // it is killed, or waits for one that is
    }
    ++asked_again_;
    runtime::Wakeup().wait(100ms);
  }
}

}  // namespace skald::chaos
