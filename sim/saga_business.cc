#include "sim/saga_business.h"

#include "sim/signals.h"

namespace skald::sim {
namespace {

const Migration kMigrations[] = {{
    .version = 1,
    .name = "what the simulated sagas work on",
    .sql = R"(
      CREATE TABLE sim_stock (sku TEXT PRIMARY KEY, quantity BIGINT NOT NULL, reserved BIGINT NOT NULL, sold BIGINT NOT NULL);
      CREATE TABLE sim_reservation (saga TEXT PRIMARY KEY, sku TEXT NOT NULL, n BIGINT NOT NULL);
      CREATE TABLE sim_order (saga TEXT PRIMARY KEY, status TEXT NOT NULL);
      CREATE TABLE sim_account (id TEXT PRIMARY KEY, balance BIGINT NOT NULL);
      CREATE TABLE sim_transfer (saga TEXT PRIMARY KEY, debit TEXT NOT NULL, credit TEXT NOT NULL, amount BIGINT NOT NULL);
      CREATE TABLE sim_touch (key TEXT PRIMARY KEY, inside TEXT NOT NULL);
    )",
    .postgres_sql = "",
}};

std::optional<LockMode> mode_of(const SimOrder& order) {
  if (order.lock.empty()) return std::nullopt;
  return order.lock == "shared" ? shared : exclusive;
}

WhenBusy when_busy_of(const SimOrder& order) {
  if (order.when_busy == "reject") return reject;
  return order.when_busy == "retry" ? try_again(3, 50ms) : wait_up_to(3s);
}

void create_order(Local& step, SimOrder&) {
  step->execute("INSERT INTO sim_order (saga, status) VALUES ($1, 'PENDING')", step.saga_id());
}
void fail_order(Local& step, SimOrder&) {
  step->execute("UPDATE sim_order SET status = 'FAILED' WHERE saga = $1", step.saga_id());
}

void reserve(Local& step, SimOrder& order) {
  if (step->execute(
          "UPDATE sim_stock SET quantity = quantity - $2, reserved = reserved + $2 WHERE sku = $1 AND quantity "
          ">= $2",
          order.sku, order.quantity) == 0)
    throw Refused("SOLD_OUT", "simulated: not enough");
  step->execute("INSERT INTO sim_reservation (saga, sku, n) VALUES ($1, $2, $3)", step.saga_id(), order.sku,
                order.quantity);
}
void give_back(Local& step, SimOrder& order) {
  step->execute("UPDATE sim_stock SET quantity = quantity + $2, reserved = reserved - $2 WHERE sku = $1", order.sku,
                order.quantity);
  step->execute("DELETE FROM sim_reservation WHERE saga = $1", step.saga_id());
}

void confirm(Local& step, SimOrder& order) {
  step->execute("UPDATE sim_stock SET reserved = reserved - $2, sold = sold + $2 WHERE sku = $1", order.sku,
                order.quantity);
  step->execute("DELETE FROM sim_reservation WHERE saga = $1", step.saga_id());
  step->execute("UPDATE sim_order SET status = 'CONFIRMED' WHERE saga = $1", step.saga_id());
}

std::int64_t balance(Local& step, const std::string& id) {
  return step->query("SELECT balance FROM sim_account WHERE id = $1", id).get<std::int64_t>(0, 0);
}
void set_balance(Local& step, const std::string& id, std::int64_t to) {
  step->execute("UPDATE sim_account SET balance = $2 WHERE id = $1", id, to);
}
void add_balance(Local& step, const std::string& id, std::int64_t by) {
  step->execute("UPDATE sim_account SET balance = balance + $2 WHERE id = $1", id, by);
}

Saga<SimTransfer> transfer_saga() {
  return Saga<SimTransfer>("sim.transfer")
      .local("read",
             [](Local& step, SimTransfer& t) {
               t.seen_from = balance(step, t.from);
               t.seen_to = balance(step, t.to);
             })
      .nothing_to_undo()
      .holds(
          "account", [](const SimTransfer& t) { return std::vector{t.from, t.to}; }, exclusive, wait_up_to(4s))
      .commit()
      .sleep("think", [](const SimTransfer& t) { return t.think_ms * 1ms; })
      .local("debit", [](Local& step, SimTransfer& t) { set_balance(step, t.from, t.seen_from - t.amount); })
      .undo([](Local& step, SimTransfer& t) { add_balance(step, t.from, t.amount); })
      .commit()
      .local("credit", [](Local& step, SimTransfer& t) { set_balance(step, t.to, t.seen_to + t.amount); })
      .undo([](Local& step, SimTransfer& t) { add_balance(step, t.to, -t.amount); })
      .local("book",
             [](Local& step, SimTransfer& t) {
               if (t.refused) throw Refused("NO", "simulated: the business says no");
               step->execute("INSERT INTO sim_transfer (saga, debit, credit, amount) VALUES ($1, $2, $3, $4)",
                             step.saga_id(), t.from, t.to, t.amount);
             })
      .pivot();
}

// Is alone at both places while it is inside, or says so.
void enter(Local& step, const std::string& key) {
  const Rows other = step->query("SELECT inside FROM sim_touch WHERE key = $1 AND inside <> ''", key);
  if (!other.empty() && other.get<std::string>(0, 0) != step.saga_id())
    throw BrokenInvariant{"I6", "two sagas are inside of " + key + " at once: " + other.get<std::string>(0, 0) +
                                    " and " + step.saga_id()};
  step->execute("INSERT INTO sim_touch (key, inside) VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET inside = $2", key,
                step.saga_id());
}
void leave(Local& step, const std::string& key) {
  step->execute("UPDATE sim_touch SET inside = '' WHERE key = $1 AND inside = $2", key, step.saga_id());
}

Saga<SimTransfer> cross_saga() {
  const auto known_later = [](const SimTransfer& t) {
    return t.seen_to > 0 ? std::vector{t.to} : std::vector<std::string>{};
  };
  return Saga<SimTransfer>("sim.cross")
      .local("first",
             [](Local& step, SimTransfer& t) {
               enter(step, t.from);
               t.seen_to = 1;
             })
      .undo([](Local& step, SimTransfer& t) {
        leave(step, t.from);
        t.seen_to = 0;
      })
      .holds("place", &SimTransfer::from, exclusive, wait_up_to(4s))
      .commit()
      .sleep("think", [](const SimTransfer& t) { return t.think_ms * 1ms; })
      .local("second", [](Local& step, SimTransfer& t) { enter(step, t.to); })
      .undo([](Local& step, SimTransfer& t) { leave(step, t.to); })
      .holds("place", known_later, exclusive, wait_up_to(4s))
      .commit()
      .local("out",
             [](Local& step, SimTransfer& t) {
               leave(step, t.from);
               leave(step, t.to);
             })
      .nothing_to_undo();
}

Saga<SimTrip> trip_saga(Provider& provider) {
  return Saga<SimTrip>("sim.trip")
      .remote("book", [&provider](Remote& step, SimTrip&) { provider.act(step, false); })
      .undo([&provider](Remote& step, SimTrip&) { provider.cancel(step); })
      .retry(3, 50ms)
      .await("go", "go", [](Local&, SimTrip&, const RawJson&) {})
      .timeout(2s)
      .child<SimOrder>(
          "order", order_saga(provider), [](const SimTrip& trip) { return trip.order; },
          [](Local&, SimTrip&, const SimOrder&) {})
      .nothing_to_undo()
      .deadline(15s);
}

}  // namespace

const Saga<SimOrder>& order_saga(Provider& provider) {
  static Provider* reached = nullptr;
  reached = &provider;
  static const Saga<SimOrder> saga =
      Saga<SimOrder>("sim.order")
          .local("create", create_order)
          .undo(fail_order)
          .local("reserve", reserve)
          .undo(give_back)
          .holds("product", &SimOrder::sku, mode_of, when_busy_of)
          .remote("charge", [](Remote& step, SimOrder& order) { reached->act(step, order.declined); })
          .retry(3, 50ms)
          .pivot()
          .local("confirm", confirm)
          .deadline(20s);
  return saga;
}

void add_sagas(saga::Registry& registry, Provider& provider) {
  registry.add(order_saga(provider).definition());
  registry.add(transfer_saga().definition());
  registry.add(cross_saga().definition());
  registry.add(trip_saga(provider).definition());
}

void create_saga_tables(Database& db) {
  db.migrate("sim.saga", kMigrations);
  db.write("stock", [](Transaction& tx) {
    for (int i = 0; i < kProducts; ++i)
      tx.execute("INSERT INTO sim_stock VALUES ($1, $2, 0, 0)", "p" + std::to_string(i), kStockPerProduct);
    for (int i = 0; i < kAccounts; ++i)
      tx.execute("INSERT INTO sim_account VALUES ($1, $2)", "a" + std::to_string(i), kBalance);
  });
}

void Provider::suffer_before() {
  const Rates& rates = stage_.plan.rates;
  if (while_it_takes && stage_.dice.chance(rates.slow * 10)) while_it_takes(stage_.dice.between(10ms, 4s));
  if (stage_.dice.chance(rates.server_error)) throw Unavailable("DOWN", "simulated: the provider is down");
  if (stage_.dice.chance(rates.lost)) throw CommitUnknown("NO_ANSWER", "simulated: lost on the way there");
}

void Provider::suffer_after() {
  const Rates& rates = stage_.plan.rates;
  if (stage_.dice.chance(rates.crash_after)) throw Crash{};
  if (stage_.dice.chance(rates.send_answer_lost)) {
    stage_.markers.hit(Marker::bus_answer_lost);
    throw CommitUnknown("NO_ANSWER", "simulated: lost on the way back");
  }
}

void Provider::act(const Remote& step, bool declined) {
  suffer_before();
  if (declined) throw Refused("DECLINED", "simulated: no money");
  if (cancelled_.contains(step.idempotency_key())) stage_.markers.hit(Marker::message_late);
  else done_.emplace(step.idempotency_key(), step.saga_id());
  suffer_after();
}

void Provider::cancel(const Remote& step) {
  suffer_before();
  const std::string undo = "/undo";
  const std::string& key = step.idempotency_key();
  cancelled_.insert(key.substr(0, key.size() - undo.size()));
  suffer_after();
}

int Provider::effects_of(const std::string& saga_id) const {
  int count = 0;
  for (const auto& [key, saga] : done_) count += saga == saga_id && !cancelled_.contains(key);
  return count;
}

int Provider::times_done(const std::string& saga_id) const {
  int count = 0;
  for (const auto& [key, saga] : done_) count += saga == saga_id;
  return count;
}

}  // namespace skald::sim
