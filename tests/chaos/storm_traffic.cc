#include "chaos/storm_traffic.h"

#include <stdexcept>

#include "chaos/order_skus.h"

namespace skald::chaos {
namespace {

constexpr std::chrono::milliseconds kCensusEvery{100}, kAgainAfter{20};

std::string order_wish(int sender, int number) {
  const auto at = static_cast<std::size_t>(sender + number);
  return R"({"sku":")" + std::string(kSkus[at % kSkus.size()]) + R"(","quantity":1})";
}

std::string gift(const std::string& donor, const std::string& id, int number) {
  return R"({"requestId":")" + id + R"(","donor":")" + donor + R"(","amount":)" + std::to_string(number + 1) +
         R"(,"currency":"KRW","message":"storm"})";
}

// The server was killed with it, starts, or cannot tell: the same request again.
bool is_passing(int status) { return status == 409 || status == 429 || status >= 500; }

}  // namespace

StormTraffic::StormTraffic(const StormSite& site, std::size_t live) : site_(site), live_(live) {
  threads_.emplace_back([this] { count(); });
  for (int i = 0; i < kCustomers; ++i) threads_.emplace_back([this, i] { send_all(order, i); });
  for (int i = 0; i < kDonors; ++i) threads_.emplace_back([this, i] { send_all(donation, i); });
}

StormTraffic::~StormTraffic() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = broken_off_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void StormTraffic::end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

bool StormTraffic::all_answered() const {
  const std::lock_guard lock(mutex_);
  return ending_ && flows_[order].asking + flows_[donation].asking == 0;
}

Census StormTraffic::census() const {
  const std::lock_guard lock(mutex_);
  return {flows_[order].live, flows_[donation].live};
}

std::set<std::string> StormTraffic::orders() const {
  const std::lock_guard lock(mutex_);
  return flows_[order].acknowledged;
}

std::set<std::string> StormTraffic::donations() const {
  const std::lock_guard lock(mutex_);
  return flows_[donation].acknowledged;
}

std::size_t StormTraffic::sent_again() const {
  const std::lock_guard lock(mutex_);
  return sent_again_;
}

std::vector<std::string> StormTraffic::refusals() const {
  const std::lock_guard lock(mutex_);
  return refusals_;
}

bool StormTraffic::rest(std::chrono::milliseconds time) const {
  std::unique_lock lock(mutex_);
  return !changed_.wait_for(lock, time, [&] { return broken_off_; });
}

void StormTraffic::count() {
  do {
    {
      const std::lock_guard lock(mutex_);
      for (Flow& flow : flows_) flow.since = 0;
    }
    const auto counted = site_.census();
    if (!counted) continue;
    const std::lock_guard lock(mutex_);
    flows_[order].live = counted->orders;
    flows_[donation].live = counted->donations;
    changed_.notify_all();
  } while (rest(kCensusEvery));
}

bool StormTraffic::wait_for_room(Kind kind) {
  std::unique_lock lock(mutex_);
  Flow& flow = flows_[kind];
  changed_.wait(lock, [&] { return ending_ || flow.live + flow.since + flow.asking < live_; });
  if (ending_) return false;
  ++flow.asking;
  return true;
}

void StormTraffic::answered(Kind kind, const std::string& id) {
  const std::lock_guard lock(mutex_);
  Flow& flow = flows_[kind];
  --flow.asking;
  ++flow.since;
  if (!id.empty()) flow.acknowledged.insert(id);
}

// A donor's gifts are sent by one thread, one after the other: their numbers rise.
void StormTraffic::send_all(Kind kind, int sender) {
  for (int number = 0; wait_for_room(kind); ++number) {
    const std::size_t worker = static_cast<std::size_t>(sender + number) % site_.size();
    if (kind == order) {
      const auto key = "Idempotency-Key: storm-" + std::to_string(sender) + "-" + std::to_string(number);
      const auto body = insist("/order/orders", order_wish(sender, number), {key}, worker);
      answered(kind, body ? std::string(json::parse(*body).at("id").as_string()) : "");
    } else {
      const std::string donor = "donor-" + std::to_string(sender * kDonorsEach + number % kDonorsEach);
      const std::string id = donor + ":" + std::to_string(number / kDonorsEach);
      const auto body = insist("/donation/donations", gift(donor, id, number), {}, worker);
      answered(kind, body ? id : "");
    }
  }
}

std::optional<std::string> StormTraffic::insist(const std::string& target, const std::string& body,
                                                const std::vector<std::string>& headers, std::size_t worker) {
  for (;; worker = (worker + 1) % site_.size()) {
    const auto answer = site_.ask(worker, "POST", target, body, headers);
    if (answer && answer->status < 300) return answer->body;
    if (answer && !is_passing(answer->status)) {
      const std::lock_guard lock(mutex_);
      refusals_.push_back("POST " + target + " was answered " + answer->body);
      return std::nullopt;
    }
    if (!rest(kAgainAfter)) return std::nullopt;
    const std::lock_guard lock(mutex_);
    ++sent_again_;
  }
}

}  // namespace skald::chaos
