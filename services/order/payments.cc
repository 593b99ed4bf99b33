#include "order/payments.h"

#include "order/http_call.h"
#include "skald/distributed_lock.h"

namespace order {
namespace {

using skald::CommitUnknown;
using skald::Refused;
using skald::Transaction;
using skald::Unavailable;

constexpr skald::Duration kControlTimeout = std::chrono::seconds(5);
constexpr skald::Duration kLeaseBeyondCall = std::chrono::seconds(5);

struct ChargePage {
  std::vector<Charge> items;
  std::optional<std::string> next_cursor;
};
BOOST_DESCRIBE_STRUCT(ChargePage, (), (items, next_cursor))

// Gives the permit back however the call ends; where that fails, its lease does.
class Lent {
 public:
  Lent(skald::Semaphore& semaphore, skald::Permit permit, skald::Observer& observer)
      : semaphore_(semaphore), permit_(std::move(permit)), observer_(observer) {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() {
    try {
      semaphore_.release(permit_);
    } catch (const std::exception&) {
      observer_.count("order_permits_left_to_lease_total");
    }
  }

 private:
  skald::Semaphore& semaphore_;
  skald::Permit permit_;
  skald::Observer& observer_;
};

}  // namespace

Payments::Payments(skald::Env env, skald::Database& db, std::string url, skald::Pause pause)
    : env_(env), db_(db), url_(std::move(url)), pause_(std::move(pause)) {
  if (!url_.empty() && !url_.starts_with("http://") && !url_.starts_with("https://"))
    throw skald::Invalid("BAD_PROVIDER", "order.provider must be a URL such as http://127.0.0.1:8090");
}

std::int64_t Payments::permits(Transaction& tx) const {
  const skald::Rows rows = tx.query("SELECT value FROM order_setting WHERE name = 'permits'");
  return rows.empty() ? kPermitsDefault : rows.get<std::int64_t>(0, 0);
}

void Payments::set_permits(Transaction& tx, std::int64_t permits) const {
  tx.execute(
      "INSERT INTO order_setting (name, value) VALUES ('permits', $1) ON CONFLICT (name) DO UPDATE SET value = "
      "excluded.value",
      permits);
}

std::string Payments::ask(skald::Remote& step, const std::string& path, const std::string& body) {
  const auto size = db_.read_result([this](Transaction& tx) { return permits(tx); });
  skald::Semaphore calls(db_, "payment provider", static_cast<int>(size), step.timeout() + kLeaseBeyondCall);
  const skald::Time deadline = env_.clock.now() + step.timeout();
  auto waiting = calls.wait_until(step.idempotency_key(), deadline);
  while (!waiting.permit) {
    pause_(waiting.again);
    waiting = calls.wait_until(step.idempotency_key(), deadline);
  }
  const Lent lent(calls, *waiting.permit, env_.observer);
  const skald::Instant begun = env_.clock.steady();
  const HttpAnswer answer = http_call("POST", url_ + path, body, step.timeout(), step.context().traceparent);
  env_.observer.timing("order_provider_call_seconds", env_.clock.steady() - begun);
  if (answer.status == 402 || answer.status == 409)
    throw Refused("PAYMENT_DECLINED", "the payment provider declines: " + answer.body.substr(0, 200));
  if (answer.status == 503) throw Unavailable("PROVIDER_DOWN", "the payment provider cannot work now");
  if (answer.status >= 500)
    throw CommitUnknown("PROVIDER_FAILED", "the payment provider answered " + std::to_string(answer.status));
  if (answer.status != 200 && answer.status != 201)
    throw Refused("PROVIDER_REFUSED",
                  "the payment provider answered " + std::to_string(answer.status) + ": " + answer.body.substr(0, 200));
  return answer.body;
}

std::string Payments::charge(skald::Remote& step, const std::string& order_id, std::int64_t amount,
                             const std::string& currency) {
  const ChargeRequest request{step.idempotency_key(), order_id, amount, currency};
  const auto charge = skald::from_json<Charge>(ask(step, "/charges", skald::to_json(request)));
  if (charge.status != ChargeStatus::CHARGED)
    throw Refused("PAYMENT_DECLINED", "the payment is " + std::string(skald::enum_name(charge.status)));
  return charge.id;
}

std::string Payments::refund(skald::Remote& step, const std::string& charge_id) {
  const RefundRequest request{step.idempotency_key(), charge_id};
  return skald::from_json<Charge>(ask(step, "/refunds", skald::to_json(request))).refund_key.value_or(request.key);
}

std::string Payments::plain(const std::string& method, const std::string& path, const std::string& body) {
  HttpAnswer answer;
  try {
    answer = http_call(method, url_ + path, body, kControlTimeout);
  } catch (const CommitUnknown& error) {
    throw Unavailable(error.code(), error.what());  // reading and setting may be repeated
  }
  if (answer.status == 422) throw skald::Invalid("BAD_BEHAVIOUR", "the provider refuses: " + answer.body);
  if (answer.status != 200)
    throw Unavailable("PROVIDER_REFUSED", "the payment provider answered " + std::to_string(answer.status));
  return answer.body;
}

void Payments::each_charge(const std::function<void(const Charge&)>& visit) {
  std::string path = "/charges?limit=200";
  for (;;) {
    const auto page = skald::from_json<ChargePage>(plain("GET", path));
    for (const Charge& charge : page.items) visit(charge);
    if (!page.next_cursor) return;
    path = "/charges?limit=200&cursor=" + *page.next_cursor;
  }
}

Behaviour Payments::behaviour() { return skald::from_json<Behaviour>(plain("GET", "/settings")); }
void Payments::behave(const Behaviour& behaviour) { plain("PUT", "/settings", skald::to_json(behaviour)); }

}  // namespace order
