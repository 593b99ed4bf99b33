#include "order/payments.h"

#include <boost/json/object.hpp>

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

// What is needed of an answer; the provider may say more.
struct ChargeAnswer {
  std::string id;
  ChargeStatus status{};
};
BOOST_DESCRIBE_STRUCT(ChargeAnswer, (), (id, status))

struct RefundAnswer {
  ChargeStatus status{};
  std::optional<std::string> refund_key;
};
BOOST_DESCRIBE_STRUCT(RefundAnswer, (), (status, refund_key))

struct ChargePage {
  std::vector<skald::RawJson> items;
  std::optional<std::string> next_cursor;
};
BOOST_DESCRIBE_STRUCT(ChargePage, (), (items, next_cursor))

// Passes over the members that T does not know: a provider adds some in the course of time.
template <skald::Described T>
T known_part(std::string_view text) {
  const boost::json::value answer = skald::json::parse(text);
  if (!answer.is_object()) skald::json::fail("", "an object");
  boost::json::object known;
  boost::mp11::mp_for_each<skald::MembersOf<T>>([&](auto member) {
    const std::string name = skald::to_camel(member.name);
    if (const auto* found = answer.get_object().if_contains(name)) known[name] = *found;
  });
  return skald::json::read<T>(known, "");
}

// The provider has taken a call, and nobody can tell what came of it.
[[noreturn]] void fail_unreadable(std::string_view why) {
  throw CommitUnknown("PROVIDER_ANSWER_UNREADABLE",
                      "the payment provider's answer cannot be read: " + std::string(why));
}

template <skald::Described T>
T read_answer(std::string_view body) {
  try {
    return known_part<T>(body);
  } catch (const skald::Invalid& error) {
    fail_unreadable(error.what());
  }
}

// What a provider calls it, as far as that is a plain name. The rest of an answer is shown to nobody: it may hold keys.
std::string code_in(std::string_view body) {
  constexpr std::size_t longest = 64;
  try {
    const boost::json::value answer = skald::json::parse(body);
    const auto* code = answer.is_object() ? answer.get_object().if_contains("code") : nullptr;
    if (code == nullptr || !code->is_string() || code->get_string().size() > longest) return "";
    const std::string name(code->get_string());
    return name.find_first_not_of("ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == name.npos ? " " + name : "";
  } catch (const skald::Invalid&) {
    return "";
  }
}

// Only two answers are a no. Another 4xx (too many calls, a wrong password, a body that it does
// not like) says of that call alone that it did nothing; but 408 may be a proxy's that gave up.
void check_status(const HttpAnswer& answer, const Refused& declined) {
  const std::string said = std::to_string(answer.status) + code_in(answer.body);
  if (answer.status == 200 || answer.status == 201) return;
  if (answer.status == 402 || answer.status == 409) throw declined;
  if (answer.status == 503) throw Unavailable("PROVIDER_DOWN", "the payment provider cannot work now");
  if (answer.status >= 400 && answer.status < 500 && answer.status != 408)
    throw Unavailable("PROVIDER_REFUSED", "the payment provider answered " + said);
  throw CommitUnknown("PROVIDER_FAILED", "the payment provider answered " + said);
}

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

std::string Payments::ask(skald::Remote& step, const std::string& path, const std::string& body,
                          const Refused& declined) {
  const auto size = db_.read_result([this](Transaction& tx) { return permits(tx); });
  skald::Semaphore calls(db_, "payment provider", static_cast<int>(size), step.timeout() + kLeaseBeyondCall);
  auto waiting = calls.wait_for(step.idempotency_key(), step.timeout());
  while (!waiting.permit) {
    pause_(waiting.again);
    waiting = calls.wait_until(step.idempotency_key(), waiting.deadline);
  }
  const Lent lent(calls, *waiting.permit, env_.observer);
  const skald::Instant begun = env_.clock.steady();
  const HttpAnswer answer = http_call("POST", url_ + path, body, step.timeout(), step.context().traceparent);
  env_.observer.timing("order_provider_call_seconds", env_.clock.steady() - begun);
  check_status(answer, declined);
  return answer.body;
}

std::string Payments::charge(skald::Remote& step, const std::string& order_id, std::int64_t amount,
                             const std::string& currency) {
  const ChargeRequest request{step.idempotency_key(), order_id, amount, currency};
  static const Refused declined("PAYMENT_DECLINED",
                                "the payment was declined by the payment provider: pay another way");
  const auto charge = read_answer<ChargeAnswer>(ask(step, "/charges", skald::to_json(request), declined));
  if (charge.id.empty()) fail_unreadable("the charge has no id");
  if (charge.status != ChargeStatus::CHARGED) throw declined;
  return charge.id;
}

std::string Payments::refund(skald::Remote& step, const std::string& charge_id) {
  const RefundRequest request{step.idempotency_key(), charge_id};
  static const Refused declined("REFUND_DECLINED", "the payment provider does not give the money back: ask it why");
  const auto refund = read_answer<RefundAnswer>(ask(step, "/refunds", skald::to_json(request), declined));
  if (refund.status != ChargeStatus::REFUNDED)
    fail_unreadable("the charge is " + std::string(skald::enum_name(refund.status)) + " after its refund");
  return refund.refund_key.value_or(request.key);
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
  try {
    for (;;) {
      const auto page = known_part<ChargePage>(plain("GET", path));
      for (const skald::RawJson& charge : page.items) visit(known_part<Charge>(charge.text));
      if (!page.next_cursor) return;
      path = "/charges?limit=200&cursor=" + *page.next_cursor;
    }
  } catch (const skald::Invalid& error) {
    throw Unavailable("PROVIDER_ANSWER_UNREADABLE", error.what());
  }
}

Behaviour Payments::behaviour() { return skald::from_json<Behaviour>(plain("GET", "/settings")); }
void Payments::behave(const Behaviour& behaviour) { plain("PUT", "/settings", skald::to_json(behaviour)); }

}  // namespace order
