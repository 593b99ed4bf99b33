#include "crash/scene.h"

#include "order/invariants.h"
#include "runtime/wakeup.h"
#include "skald/checker.h"
#include "skald/http.h"
#include "support/built.h"

namespace skald::crash {

Scene::Scene(Dialect dialect, Pace pace) : pace_(pace) {
  if (dialect == Dialect::postgres) server_ = std::make_unique<test::ScratchPostgres>();
  database_ = server_ ? server_->url() : (folder_.path() / "order.db").string();
  start_provider();
}

Scene::Scene(std::string database, Pace pace) : pace_(pace), database_(std::move(database)) { start_provider(); }

void Scene::start_provider() {
  provider_ = std::make_unique<ServedProcess>(std::vector<std::string>{built::kProgram, "sandbox-provider", "--listen",
                                                                       "127.0.0.1:0", "--data",
                                                                       (folder_.path() / "provider").string()});
}

std::unique_ptr<ServedProcess> Scene::start(Doom doom, int place) const {
  const std::filesystem::path notes = folder_.path() / ("place-" + std::to_string(place));
  std::filesystem::create_directories(notes);
  const ProcessOptions options{.database = database_,
                               .provider = provider_->url(),
                               .lease_ms = pace_.lease_ms,
                               .beat_ms = pace_.beat_ms,
                               .call_timeout_ms = pace_.call_timeout_ms,
                               .doom = std::move(doom),
                               .crash_notes = (notes / "crash").string()};
  return std::make_unique<ServedProcess>(std::vector<std::string>{built::kOrderProcess, to_json(options)});
}

void Scene::behave(const order::Behaviour& behaviour) { provider_->send("PUT", "/settings", to_json(behaviour), 200); }

std::vector<order::Charge> charges_at(const ServedProcess& provider) {
  std::vector<order::Charge> out;
  for (std::string cursor;;) {
    const auto page = provider.get_as<Listing<order::Charge>>("/charges?limit=200" + cursor);
    out.insert(out.end(), page.items.begin(), page.items.end());
    if (!page.next_cursor) return out;
    cursor = "&cursor=" + *page.next_cursor;
  }
}

std::optional<order::OrderView> order_at(const ServedProcess& process, const std::string& id) {
  const auto answer = process.ask("GET", "/order/orders/" + id);
  if (!answer || answer->status != 200) return std::nullopt;
  return from_json<order::OrderView>(answer->body);
}

void offer(const ServedProcess& process, const std::string& sku, std::int64_t stock) {
  process.send("POST", "/order/products", to_json(order::NewProduct{sku, "a " + sku, 100, "EUR", stock}), 201);
}

std::vector<SagaView> sagas_that_need_help(const ServedProcess& process) {
  const auto page = process.get_as<Listing<OfService<SagaView>>>("/api/sagas?status=NEEDS_HELP&limit=200");
  return {page.items.begin(), page.items.end()};
}

std::vector<std::string> what_is_wrong(const ServedProcess& process) {
  std::vector<std::string> out;
  for (const skald::Check& check : process.get_as<skald::Invariants>("/order/invariants").checks)
    if (!check.ok) out.push_back(check.name + ": " + check.detail);
  for (const LockView& lock : process.get_as<Listing<OfService<LockView>>>("/api/locks").items)
    out.push_back("a lock is left: " + to_json(lock));
  for (const auto& product : process.get_as<Listing<order::ProductView>>("/order/products").items)
    if (product.reserved != 0 || product.holder) out.push_back("a reservation is left: " + to_json(product));
  for (const SagaView& saga : sagas_that_need_help(process)) out.push_back("a saga needs help: " + to_json(saga));
  return out;
}

std::vector<std::string> anomalies(const ServedProcess& process) {
  std::vector<checker::Operation> history;
  for (std::string cursor;;) {
    const auto page = process.get_as<Listing<OfService<checker::Operation>>>("/api/history?limit=200" + cursor);
    history.insert(history.end(), page.items.begin(), page.items.end());
    if (!page.next_cursor) break;
    cursor = "&cursor=" + *page.next_cursor;
  }
  if (history.empty()) return {"no history was recorded"};
  std::vector<std::string> out;
  for (const checker::Finding& finding : checker::check(history))
    out.push_back(checker::findings_text(std::span(&finding, 1)));
  return out;
}

void rest(Duration time) { runtime::Wakeup().wait(time); }

}  // namespace skald::crash
