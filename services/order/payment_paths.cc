// Payments, and how the provider behaves.
#include "order/shop.h"
#include "order/validation.h"

namespace order {
namespace {

using skald::Access;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

constexpr std::int64_t kPermitsMax = 1000;

// Every member of a PUT may be left out: what is there stays.
struct ProviderChange {
  std::optional<std::int64_t> latency_ms;
  std::optional<double> error_rate, decline_rate, charge_then_timeout_rate, duplicate_rate;
  std::optional<std::int64_t> timeout_ms, permits;
};
BOOST_DESCRIBE_STRUCT(ProviderChange, (),
                      (latency_ms, error_rate, decline_rate, charge_then_timeout_rate, duplicate_rate, timeout_ms,
                       permits))

struct ProviderView {
  std::string url;
  std::int64_t latency_ms = 0;
  double error_rate = 0, decline_rate = 0, charge_then_timeout_rate = 0, duplicate_rate = 0;
  std::int64_t timeout_ms = 0, permits = 0;
};
BOOST_DESCRIBE_STRUCT(ProviderView, (),
                      (url, latency_ms, error_rate, decline_rate, charge_then_timeout_rate, duplicate_rate, timeout_ms,
                       permits))

ProviderView view_of(const Shop& shop, const Behaviour& behaviour, std::int64_t permits) {
  return {shop.options.provider,
          behaviour.latency_ms,
          behaviour.error_rate,
          behaviour.decline_rate,
          behaviour.charge_then_timeout_rate,
          behaviour.duplicate_rate,
          behaviour.timeout_ms,
          permits};
}

// Before the transaction: while the provider takes its time, others can write.
Behaviour change_behaviour(const Shop& shop, const ProviderChange& asked) {
  if (asked.permits && (*asked.permits < 1 || *asked.permits > kPermitsMax))
    throw skald::Invalid("BAD_PERMITS", "permits must be 1 to " + std::to_string(kPermitsMax));
  Behaviour behaviour = shop.payments->behaviour();
  behaviour.latency_ms = asked.latency_ms.value_or(behaviour.latency_ms);
  behaviour.error_rate = asked.error_rate.value_or(behaviour.error_rate);
  behaviour.decline_rate = asked.decline_rate.value_or(behaviour.decline_rate);
  behaviour.charge_then_timeout_rate = asked.charge_then_timeout_rate.value_or(behaviour.charge_then_timeout_rate);
  behaviour.duplicate_rate = asked.duplicate_rate.value_or(behaviour.duplicate_rate);
  behaviour.timeout_ms = asked.timeout_ms.value_or(behaviour.timeout_ms);
  shop.payments->behave(behaviour);
  return behaviour;
}

skald::WriteTarget change_provider(const ShopHandle& shop) {
  const auto behaviour = std::make_shared<Behaviour>();
  return {shop->db(),
          [shop, behaviour](const Request& request, Transaction& tx) {
            if (const auto permits = request.as<ProviderChange>().permits) shop->payments->set_permits(tx, *permits);
            return Response::json(200, view_of(*shop, *behaviour, shop->payments->permits(tx)));
          },
          [shop, behaviour](const Request& request) {
            *behaviour = change_behaviour(*shop, request.as<ProviderChange>());
          }};
}

Response list_payments(const Shop& shop, const Request& request) {
  const Page page = Page::of(request);
  const auto order_id = request.query_value("orderId");
  auto rows = shop.db().read_result([&](Transaction& tx) {
    if (order_id)
      return tx.select<Payment>("WHERE order_id = $1 AND id > $2 ORDER BY id LIMIT $3", *order_id, page.after(1)[0],
                                page.limit + 1);
    return tx.select<Payment>("WHERE id > $1 ORDER BY id LIMIT $2", page.after(1)[0], page.limit + 1);
  });
  return Response::json(200, page.cut(std::move(rows), [](const Payment& last) { return Page::cursor_at({last.id}); }));
}

}  // namespace

void add_payment_paths(const ShopHandle& shop, skald::Router& router) {
  router.get("/order/payments", Access::admin,
             skald::describe<void, skald::Listing<Payment>>("Payments, by their time", 200, {"orderId"}),
             [shop](const Request& request) { return list_payments(*shop, request); });
  router.get(
      "/order/provider", Access::admin,
      skald::describe<void, ProviderView>("How the payment provider behaves, and how many calls it gets at once"),
      [shop](const Request&) {
        const Behaviour behaviour = shop->payments->behaviour();
        const auto permits = shop->db().read_result([&](Transaction& tx) { return shop->payments->permits(tx); });
        return Response::json(200, view_of(*shop, behaviour, permits));
      });
  router.write("PUT", "/order/provider", Access::admin,
               skald::describe<ProviderChange, ProviderView>("Make the sandbox provider behave so"),
               [shop](const Request&) { return change_provider(shop); });
}

}  // namespace order
