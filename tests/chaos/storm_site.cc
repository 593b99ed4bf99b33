#include "chaos/storm_site.h"

#include <stdexcept>

#include "chaos/order_skus.h"
#include "support/built.h"

namespace skald::chaos {
namespace {

constexpr int kPatienceSeconds = 5;  // with one answer
constexpr Duration kAnswerWithin = 30s;
constexpr std::size_t kPageMax = 200;

// A process that dies in a call keeps its permit until its lease is over: there must be enough.
constexpr const char* kPermits = R"({"permits":1000})";

}  // namespace

std::string StormSetup::name() const {
  return dialect == Dialect::sqlite ? "SQLite" : "PostgreSQL x " + std::to_string(workers);
}

StormSite::StormSite(const StormSetup& setup) {
  if (setup.dialect == Dialect::postgres) database_ = std::make_unique<test::ScratchPostgres>();
  receiver_.always({.latency = std::chrono::milliseconds(setup.latency_ms)});
  provider_ = std::make_unique<crash::ServedProcess>(
      std::vector<std::string>{built::kProgram, "sandbox-provider", "--listen", "127.0.0.1:0", "--http-threads", "256",
                               "--data", (folder_.path() / "provider").string()});
  provider_->send("PUT", "/settings", to_json(order::Behaviour{.latency_ms = setup.latency_ms}), 200);
  ServiceProcess::Variables variables{{"SKALD_DONATION_WEBHOOK", receiver_.url()},
                                      {"SKALD_WEBHOOK_ALLOW_PRIVATE", "1"},
                                      {"SKALD_DONATION_WEBHOOK_SECRET", "one-secret-for-all-servers"},
                                      {"SKALD_ORDER_PROVIDER", provider_->url()}};
  if (database_) variables["SKALD_DB"] = database_->url();
  for (std::size_t i = 0; i < setup.workers; ++i)
    servers_.push_back(std::make_unique<ServiceProcess>(
        setup.program.empty() ? built::kProgram : setup.program, folder_.path() / ("server-" + std::to_string(i)),
        std::vector<std::string>{"--services", "donation,order"}, variables));
  offer_products();
}

void StormSite::offer_products() const {
  for (const char* sku : kSkus)
    insist("POST", "/order/products", to_json(order::NewProduct{sku, std::string("a ") + sku, 100, "EUR", 1'000'000}),
           201);
  insist("PUT", "/order/provider", kPermits, 200);
}

void StormSite::look_after(std::vector<std::string>& faults) {
  for (std::size_t i = 0; i < servers_.size(); ++i)
    if (servers_[i]->revive())
      faults.push_back("server " + std::to_string(i) + " has ended by itself: " + servers_[i]->last_words());
}

std::optional<test::HttpAnswer> StormSite::ask(std::size_t worker, const std::string& method, const std::string& target,
                                               const std::string& body, const std::vector<std::string>& headers) const {
  try {
    return test::http_request(servers_[worker]->port(), method, target, body, headers, kPatienceSeconds);
  } catch (const std::exception&) {
    return std::nullopt;  // killed, or not there yet
  }
}

std::string StormSite::insist(const std::string& method, const std::string& target, const std::string& body,
                              int status) const {
  std::string last = "not at all";
  for (const auto end = std::chrono::steady_clock::now() + kAnswerWithin; std::chrono::steady_clock::now() < end;) {
    for (std::size_t i = 0; i < servers_.size(); ++i) {
      const auto answer = ask(i, method, target, body);
      if (answer && answer->status == status) return answer->body;
      if (answer) last = answer->body;
    }
    crash::rest(20ms);
  }
  throw std::runtime_error(method + " " + target + " was answered " + last);
}

std::optional<Census> StormSite::census() const {
  for (std::size_t i = 0; i < servers_.size(); ++i) {
    Census out;
    const auto overview = ask(i, "GET", "/api/overview");
    if (!overview || overview->status != 200) continue;
    out.donations = static_cast<std::size_t>(overview->json().at("pending").as_int64());
    for (std::string cursor;;) {
      const auto page = ask(i, "GET", "/order/orders?status=PENDING&limit=" + std::to_string(kPageMax) + cursor);
      if (!page || page->status != 200) break;
      const auto orders = page->json();
      out.orders += orders.at("items").as_array().size();
      const auto* next = orders.as_object().if_contains("nextCursor");
      if (next == nullptr) return out;
      cursor = "&cursor=" + std::string(next->as_string());
    }
  }
  return std::nullopt;
}

}  // namespace skald::chaos
