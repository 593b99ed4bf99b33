#include "chaos/traffic.h"

#include "http/raw_client.h"

namespace skald::chaos {

Traffic::Traffic(Site& site, int per_second) : site_(site), acknowledged_(kThreads) {
  const std::chrono::microseconds pause(1'000'000 * kThreads / per_second);
  for (int i = 0; i < kThreads; ++i) threads_.emplace_back([this, i, pause] { give(i, pause); });
}

Traffic::~Traffic() { stop(); }

void Traffic::stop() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  stopped_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

std::set<std::string> Traffic::acknowledged() const {
  std::set<std::string> out;
  for (const auto& each : acknowledged_) out.insert(each.begin(), each.end());
  return out;
}

bool Traffic::pause_until(std::chrono::steady_clock::time_point time) {
  std::unique_lock lock(mutex_);
  return !stopped_.wait_until(lock, time, [&] { return stopping_; });
}

void Traffic::give(int thread, std::chrono::microseconds pause) {
  auto next = std::chrono::steady_clock::now();
  for (int number = 0; pause_until(next); ++number, next += pause) {
    const std::string donor = "donor-" + std::to_string(thread * kDonorsEach + number % kDonorsEach);
    const std::string id = donor + ":" + std::to_string(number / kDonorsEach);
    const std::string body = R"({"requestId":")" + id + R"(","donor":")" + donor + R"(","amount":)" +
                             std::to_string(number + 1) + R"(,"currency":"KRW","message":"chaos"})";
    std::size_t server = static_cast<std::size_t>(thread + number) % site_.size();
    while (!donate(server, body)) {
      ++resent_;
      server = (server + 1) % site_.size();
    }
    acknowledged_[static_cast<std::size_t>(thread)].push_back(id);
  }
}

bool Traffic::donate(std::size_t server, const std::string& body) {
  const std::string port = std::to_string(site_.port(server));
  try {
    http::RawClient client(site_.port(server), 2);
    client.send("POST /donation/donations HTTP/1.1\r\nHost: 127.0.0.1:" + port +
                "\r\nContent-Type: application/json\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\nConnection: close\r\n\r\n" + body);
    const std::string answer = client.read_response();
    return answer.starts_with("HTTP/1.1 201") || answer.starts_with("HTTP/1.1 200");
  } catch (const std::exception&) {
    return false;  // a killed or frozen server: the caller goes to another
  }
}

}  // namespace skald::chaos
