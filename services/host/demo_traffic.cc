#include "host/demo_traffic.h"

#include <algorithm>

#include "booking/record.h"
#include "golf/slot.h"
#include "runtime/wakeup.h"

namespace skald::host {
namespace {

constexpr std::int64_t kRoom = 100, kPopularRoom = 4, kPartyMax = 4, kTimesMax = 5000;
constexpr std::chrono::seconds kPatience = std::chrono::minutes(2);
constexpr Duration kLookAgain = 200ms;

std::string member(const Response& response, std::string_view name) {
  const auto body = json::parse(response.body);
  const auto* found = body.as_object().if_contains(name);
  return found == nullptr || !found->is_string() ? "" : std::string(found->as_string());
}

}  // namespace

DemoTraffic::DemoTraffic(Env env, const cli::Remote& server, DemoOptions options, Post follow)
    : env_(env), server_(server), api_(cli::remote_api(server)), options_(options), post_(std::move(follow)) {
  course_ = member(call("POST", "/booking/courses", R"({"name":"Riverside"})"), "id");
  if (course_.empty()) throw Unavailable("NO_BOOKING", "the server at hand does not run the booking system");
  popular_ = open_slot(kPopularRoom);
  const std::int64_t seats = options_.only_bookings.value_or(0) * kPartyMax;
  for (std::int64_t room = 0; room <= seats && std::ssize(open_) < kTimesMax; room += kRoom)
    open_.push_back(open_slot(kRoom));
}

Response DemoTraffic::call(const std::string& method, const std::string& path, const std::string& body) const {
  Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  if (!body.empty()) request.headers["content-type"] = "application/json";
  return api_(request);
}

std::string DemoTraffic::open_slot(std::int64_t players) {
  const Time start = std::chrono::time_point_cast<std::chrono::minutes>(env_.clock.now()) +
                     std::chrono::hours(24 * (1 + static_cast<int>(chance(20))));
  return member(
      call("POST", "/booking/slots",
           R"({"courseId":")" + course_ + R"(","startsAt":")" + format_time(start) + R"(","maxPlayers":)" +
               std::to_string(players) + R"(,"pricePerPlayer":)" + std::to_string(10'000 + chance(9) * 1000) + "}"),
      "id");
}

void DemoTraffic::act(Time due) {
  {
    const std::lock_guard lock(mutex_);
    ++figures_.sent;
    figures_.late.push_back(env_.clock.now() - due);
  }
  try {
    const std::uint64_t dice = options_.only_bookings ? 0 : chance(100);
    if (dice < 80) book(due);
    else if (dice < 95) cancel();
    else ask_for_too_much();
  } catch (const Error& error) {
    const std::lock_guard lock(mutex_);
    ++figures_.refused[error.code()];
  }
}

void DemoTraffic::book(Time due) {
  std::string slot;
  std::size_t which = 0;
  {
    const std::lock_guard lock(mutex_);
    which = next_++ % open_.size();
    slot = !options_.only_bookings && chance(10) == 0 ? popular_ : open_[which];
  }
  const Response made = call("POST", "/booking/bookings",
                             R"({"slotId":")" + slot + R"(","players":)" + std::to_string(1 + chance(kPartyMax)) +
                                 R"(,"customer":"customer-)" + std::to_string(chance(500)) + "\"}");
  if (made.status == 202) return follow(member(made, "id"), due);
  count_refusal(made);
  if (made.status != 409 || slot == popular_) return;
  // This time is full: the course opens another.
  const std::string next = open_slot(kRoom);
  const std::lock_guard lock(mutex_);
  if (open_[which] == slot) open_[which] = next;
}

void DemoTraffic::follow(const std::string& id, Time due) {
  {
    const std::lock_guard lock(mutex_);
    bookings_.push_back(id);
    if (figures_.booked++ % options_.follow_one_in != 0) return;
    ++figures_.pending;
  }
  post_([this, id, due] {
    try {
      await_end(id, due);
    } catch (const Error& error) {
      const std::lock_guard lock(mutex_);
      ++figures_.refused[error.code()];
    }
  });
}

std::optional<Time> DemoTraffic::see_confirmed(const std::string& id) const {
  std::optional<Time> seen;
  std::string told;
  cli::follow_stream(server_, "/booking/bookings/" + id + "/events", kPatience, [&](std::string_view text) {
    told += text;
    if (told.find("event: CONFIRMED\n") != told.npos) seen = env_.clock.now();
    return !seen && told.find("event: FAILED\n") == told.npos && told.find("event: CANCELLED\n") == told.npos;
  });
  return seen;
}

void DemoTraffic::await_end(const std::string& id, Time due) {
  booking::Status status = booking::Status::PENDING;
  Response shown;
  std::optional<Time> seen;
  const Instant end = env_.clock.steady() + kPatience;
  for (;;) {
    seen = see_confirmed(id);
    if (seen) break;
    shown = call("GET", "/booking/bookings/" + id);
    // 503: a service is started again, or has too much to do.
    if (shown.status != 503 && !boost::describe::enum_from_string(member(shown, "status").c_str(), status)) break;
    if (status != booking::Status::PENDING || env_.clock.steady() >= end) break;
    runtime::Wakeup().wait(kLookAgain);
  }
  const std::lock_guard lock(mutex_);
  if (seen || status != booking::Status::PENDING) --figures_.pending;
  if (seen) {
    ++figures_.confirmed;
    figures_.waits.push_back(*seen - due);
  } else if (status == booking::Status::FAILED) {
    ++figures_
          .refused[std::string(json::parse(shown.body).as_object().at("reason").as_object().at("code").as_string())];
  }
}

void DemoTraffic::cancel() {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    if (bookings_.empty()) return;
    std::swap(bookings_[chance(bookings_.size())], bookings_.back());
    id = std::move(bookings_.back());
    bookings_.pop_back();
  }
  const Response response = call("POST", "/booking/bookings/" + id + "/cancel", R"({"reason":"it will rain"})");
  if (response.status != 200) return count_refusal(response);
  const std::lock_guard lock(mutex_);
  ++figures_.cancelled;
}

void DemoTraffic::ask_for_too_much() {
  count_refusal(call("POST", "/booking/bookings", R"({"slotId":")" + popular_ + R"(","players":50})"));
}

void DemoTraffic::count_refusal(const Response& response) {
  const std::string code = member(response, "code");
  const std::lock_guard lock(mutex_);
  ++figures_.refused[code];
}

DemoFigures DemoTraffic::figures() const {
  const std::lock_guard lock(mutex_);
  return figures_;
}

}  // namespace skald::host
