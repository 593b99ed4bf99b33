#include "booking_hot.h"

#include <atomic>
#include <chrono>
#include <future>
#include <stdexcept>
#include <vector>

#include "end_to_end/skald_process.h"
#include "measure.h"
#include "skald/time.h"

namespace bench {
namespace {

constexpr int kAskingAtOnce = 64, kSeats = 100;
constexpr double kSettledMax = 120, kLookAgain = 0.02;

skald::test::HttpAnswer post(const BookingSite& site, const std::string& path, const std::string& body) {
  return skald::test::http_request(site.port(), "POST", path, body);
}

std::string id_of(const skald::test::HttpAnswer& answer) {
  if (answer.status != 201) throw std::runtime_error("no slot to book: " + answer.body);
  return std::string(answer.json().at("id").as_string());
}

std::string open_slot(const BookingSite& site) {
  const std::string course = id_of(post(site, "/booking/courses", R"({"name":"Riverside"})"));
  const auto start = std::chrono::time_point_cast<skald::Time::duration>(
      std::chrono::ceil<std::chrono::minutes>(std::chrono::system_clock::now()) + std::chrono::hours(24 * 10));
  return id_of(post(site, "/booking/slots",
                    R"({"courseId":")" + course + R"(","startsAt":")" + skald::format_time(start) +
                        R"(","maxPlayers":)" + std::to_string(kSeats) + R"(,"pricePerPlayer":12000})"));
}

// Until it is accepted, or told that the slot is full; who is sent away by a busy server asks again.
void ask_as(int customer, const std::string& slot, const BookingSite& site) {
  const std::string body =
      R"({"slotId":")" + slot + R"(","players":1,"customer":"c)" + std::to_string(customer) + "\"}";
  for (;;) {
    const auto answer = post(site, "/booking/bookings", body);
    if (answer.status == 202 || answer.status == 409) return;
    if (answer.status != 503) throw std::runtime_error("a customer got no answer: " + answer.body);
  }
}

// Returns when the last one began to ask.
std::int64_t ask_all(const std::string& slot, const BookingSite& site, int customers) {
  std::atomic<int> next = 0;
  std::atomic<std::int64_t> last = 0;
  std::vector<std::future<void>> crowd;
  for (int i = 0; i < kAskingAtOnce; ++i)
    crowd.push_back(std::async(std::launch::async, [&] {
      for (int customer = next++; customer < customers; customer = next++) {
        if (customer == customers - 1) last = now_ns();
        ask_as(customer, slot, site);
      }
    }));
  for (auto& one : crowd) one.get();
  return last;
}

bool anybody_waits(const std::string& slot, const BookingSite& site) {
  const auto answer =
      skald::test::http_request(site.port(), "GET", "/booking/bookings?limit=1&status=PENDING&slotId=" + slot);
  if (answer.status != 200) throw std::runtime_error("no list of bookings: " + answer.body);
  return !answer.json().at("items").as_array().empty();
}

}  // namespace

double hot_slot_seconds(const BookingSite& site, int customers) {
  const std::string slot = open_slot(site);
  const std::int64_t asked = ask_all(slot, site, customers);
  const auto seconds = [&] { return static_cast<double>(now_ns() - asked) / 1e9; };
  while (anybody_waits(slot, site)) {
    if (seconds() > kSettledMax) throw std::runtime_error("customers of the hot slot still wait");
    sleep_for_seconds(kLookAgain);
  }
  return seconds();
}

}  // namespace bench
