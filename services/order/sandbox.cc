#include "order/sandbox.h"

#include <array>

#include "order/provider_api.h"
#include "skald/id.h"

template <>
struct skald::Table<order::Charge> {
  static constexpr std::string_view name = "sandbox_charge", key = "key";
};

namespace order {
namespace {

using skald::Access;
using skald::Invalid;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

constexpr const char* kTables = R"sql(
  CREATE TABLE sandbox_charge (
    key TEXT PRIMARY KEY, id TEXT NOT NULL UNIQUE, reference TEXT NOT NULL, amount BIGINT NOT NULL,
    currency TEXT NOT NULL, status TEXT NOT NULL, refund_key TEXT);
  CREATE TABLE sandbox_behaviour (id BIGINT PRIMARY KEY, body TEXT NOT NULL))sql";

constexpr std::int64_t kDelayMax = 120'000;

Behaviour behaviour_in(Transaction& tx) {
  const skald::Rows rows = tx.query("SELECT body FROM sandbox_behaviour WHERE id = 1");
  return rows.empty() ? Behaviour{} : skald::from_json<Behaviour>(rows.get<std::string_view>(0, 0));
}

void check(const Behaviour& behaviour) {
  for (const double rate :
       {behaviour.error_rate, behaviour.decline_rate, behaviour.charge_then_timeout_rate, behaviour.duplicate_rate})
    if (!(rate >= 0 && rate <= 1)) throw Invalid("BAD_RATE", "a rate must be from 0 to 1");
  for (const std::int64_t delay : {behaviour.latency_ms, behaviour.timeout_ms})
    if (delay < 0 || delay > kDelayMax)
      throw Invalid("BAD_DELAY", "a delay must be from 0 to " + std::to_string(kDelayMax) + " milliseconds");
}

class Sandbox {
 public:
  Sandbox(skald::Database& db, skald::Env env, skald::Pause pause) : db_(db), env_(env), pause_(std::move(pause)) {}

  Response charge(const Request& request) {
    const auto asked = request.as<ChargeRequest>();
    if (asked.amount < 1) throw Invalid("BAD_AMOUNT", "amount must be 1 or more");
    return misbehave([&](const Behaviour& behaviour) { return charge_once(asked, behaviour); });
  }

  Response refund(const Request& request) {
    const auto asked = request.as<RefundRequest>();
    return misbehave([&](const Behaviour&) { return refund_once(asked); });
  }

  Response cancel(const Request& request) {
    const auto asked = request.as<CancelRequest>();
    return misbehave([&](const Behaviour&) { return cancel_once(asked); });
  }

 private:
  struct Effect {
    Charge charge;
    bool fresh = false;
  };

  bool happens(double rate) {
    return rate > 0 && static_cast<double>(env_.random.next() >> 11) < rate * static_cast<double>(1ull << 53);
  }

  Response misbehave(const std::function<Effect(const Behaviour&)>& act) {
    const Behaviour behaviour = db_.read_result(behaviour_in);
    if (behaviour.latency_ms > 0) pause_(std::chrono::milliseconds(behaviour.latency_ms));
    if (happens(behaviour.error_rate)) throw skald::Unavailable("SANDBOX_ERROR", "the sandbox was told to fail");
    Effect effect = act(behaviour);
    if (happens(behaviour.duplicate_rate)) effect.charge = act(behaviour).charge;
    if (effect.fresh && happens(behaviour.charge_then_timeout_rate))
      pause_(std::chrono::milliseconds(behaviour.timeout_ms));
    return Response::json(effect.charge.status == ChargeStatus::DECLINED ? 402 : 200, effect.charge);
  }

  Effect charge_once(const ChargeRequest& asked, const Behaviour& behaviour) {
    const ChargeStatus status = happens(behaviour.decline_rate) ? ChargeStatus::DECLINED : ChargeStatus::CHARGED;
    const std::string id = "ch_" + skald::make_id(env_.clock.now(), env_.random);
    return db_.write_result("charge", [&](Transaction& tx) {
      const bool fresh = tx.execute(
                             "INSERT INTO sandbox_charge (key, id, reference, amount, currency, status) "
                             "VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT (key) DO NOTHING",
                             asked.key, id, asked.reference, asked.amount, asked.currency, status) == 1;
      const Charge stored = *tx.find<Charge>(asked.key);
      if (!fresh && stored.amount != asked.amount && stored.status != ChargeStatus::CANCELLED)
        throw Invalid("KEY_REUSED", "this key was used for another amount");
      return Effect{stored, fresh};
    });
  }

  Effect refund_once(const RefundRequest& asked) {
    return db_.write_result("refund", [&](Transaction& tx) {
      const bool fresh =
          tx.execute("UPDATE sandbox_charge SET status = $3, refund_key = $2 WHERE id = $1 AND status = $4",
                     asked.charge, asked.key, ChargeStatus::REFUNDED, ChargeStatus::CHARGED) == 1;
      const auto found = tx.select<Charge>("WHERE id = $1", asked.charge);
      if (found.empty()) throw skald::NotFound("NO_CHARGE", "there is no charge of that id");
      if (found[0].refund_key != asked.key) throw skald::Conflict("NOT_REFUNDABLE", "it was refunded by another key");
      return Effect{found[0], fresh};
    });
  }

  // Whichever comes first, the charge or its cancellation, the other has no effect.
  Effect cancel_once(const CancelRequest& asked) {
    const std::string id = "ch_" + skald::make_id(env_.clock.now(), env_.random);
    return db_.write_result("cancel", [&](Transaction& tx) {
      const bool fresh = tx.execute(
                             "INSERT INTO sandbox_charge (key, id, reference, amount, currency, status) "
                             "VALUES ($1, $2, '', 0, '', $3) ON CONFLICT (key) DO NOTHING",
                             asked.key, id, ChargeStatus::CANCELLED) == 1;
      tx.execute("UPDATE sandbox_charge SET status = $2, refund_key = key WHERE key = $1 AND status = $3", asked.key,
                 ChargeStatus::REFUNDED, ChargeStatus::CHARGED);
      return Effect{*tx.find<Charge>(asked.key), fresh};
    });
  }

  skald::Database& db_;
  skald::Env env_;
  skald::Pause pause_;
};

Response charges_page(skald::Database& db, const Request& request) {
  const Page page = Page::of(request);
  auto rows = db.read_result([&](Transaction& tx) {
    return tx.select<Charge>("WHERE key > $1 ORDER BY key LIMIT $2", page.after(1)[0], page.limit + 1);
  });
  return Response::json(200, page.cut(std::move(rows), [](const Charge& last) { return Page::cursor_at({last.key}); }));
}

}  // namespace

void install_sandbox(skald::Database& db, skald::Router& router, skald::Env env, const skald::Pause& pause) {
  static const std::array<skald::Migration, 1> steps = {
      skald::Migration{.version = 1, .name = "charges", .sql = kTables, .postgres_sql = ""}};
  db.migrate("sandbox", steps);
  const auto sandbox = std::make_shared<Sandbox>(db, env, pause);
  router.act("/charges", Access::admin, skald::describe<ChargeRequest, Charge>("Charge once per key"),
             [sandbox](const Request& request) { return sandbox->charge(request); });
  router.act("/refunds", Access::admin, skald::describe<RefundRequest, Charge>("Refund once per key"),
             [sandbox](const Request& request) { return sandbox->refund(request); });
  router.act("/cancellations", Access::admin, skald::describe<CancelRequest, Charge>("Make a key have no effect"),
             [sandbox](const Request& request) { return sandbox->cancel(request); });
  router.get("/charges", Access::admin, skald::describe<void, skald::Listing<Charge>>("Charges, by key"),
             [&db](const Request& request) { return charges_page(db, request); });
  router.get("/settings", Access::admin, skald::describe<void, Behaviour>("How it behaves"),
             [&db](const Request&) { return Response::json(200, db.read_result(behaviour_in)); });
  router.write(db, "PUT", "/settings", Access::admin, skald::describe<Behaviour, Behaviour>("Make it behave so"),
               [](const Request& request, Transaction& tx) {
                 const auto behaviour = request.as<Behaviour>();
                 check(behaviour);
                 tx.execute(
                     "INSERT INTO sandbox_behaviour (id, body) VALUES (1, $1) ON CONFLICT (id) DO UPDATE SET body = "
                     "excluded.body",
                     skald::to_json(behaviour));
                 return Response::json(200, behaviour);
               });
}

}  // namespace order
