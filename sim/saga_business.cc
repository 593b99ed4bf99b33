#include "sim/saga_business.h"

#include "isolation/schema.h"
#include "sim/signals.h"

namespace skald::sim {
namespace {

const Migration kSagaMigrations[] = {{
    .version = 1,
    .name = "what the simulated sagas work on",
    .sql = R"(
      CREATE TABLE sim_stock (sku TEXT PRIMARY KEY, quantity BIGINT NOT NULL, reserved BIGINT NOT NULL, sold BIGINT NOT NULL, version BIGINT NOT NULL);
      CREATE TABLE sim_reservation (saga TEXT PRIMARY KEY, sku TEXT NOT NULL, n BIGINT NOT NULL);
      CREATE TABLE sim_order (saga TEXT PRIMARY KEY, status TEXT NOT NULL, waits BIGINT NOT NULL);
      CREATE TABLE sim_account (id TEXT PRIMARY KEY, balance BIGINT NOT NULL, version BIGINT NOT NULL);
      CREATE TABLE sim_transfer (saga TEXT PRIMARY KEY, debit TEXT NOT NULL, credit TEXT NOT NULL, amount BIGINT NOT NULL);
      CREATE TABLE sim_touch (key TEXT PRIMARY KEY, inside TEXT NOT NULL);
      CREATE TABLE sim_charge (key TEXT NOT NULL, saga TEXT NOT NULL, stands BIGINT NOT NULL);
      CREATE TABLE sim_did (n INTEGER PRIMARY KEY AUTOINCREMENT, saga TEXT NOT NULL, step TEXT NOT NULL, undo BIGINT NOT NULL);
    )",
    .postgres_sql = "",
}};

template <class State>
void note(Local& step, State& state, bool undo) {
  const std::string& name = step.context().step;
  step->execute("INSERT INTO sim_did (saga, step, undo) VALUES ($1, $2, $3)", step.saga_id(), name, undo ? 1 : 0);
  state.trail.push_back((undo ? "-" : "") + name);
}
// Notes first: what a step that fails has done by then must be discarded, too.
template <class State>
std::function<void(Local&, State&)> does(std::type_identity_t<std::function<void(Local&, State&)>> act) {
  return [act](Local& step, State& state) {
    note(step, state, false);
    act(step, state);
  };
}
template <class State>
std::function<void(Local&, State&)> undoes(std::type_identity_t<std::function<void(Local&, State&)>> act) {
  return [act](Local& step, State& state) {
    note(step, state, true);
    act(step, state);
  };
}

std::optional<LockMode> mode_of(const SimOrder& order) {
  if (order.lock.empty()) return std::nullopt;
  return order.lock == "shared" ? shared : exclusive;
}

WhenBusy when_busy_of(const SimOrder& order) {
  if (order.when_busy == "reject") return reject;
  return order.when_busy == "retry" ? try_again(3, 50ms) : wait_up_to(3s);
}

void create_order(Local& step, SimOrder& order) {
  step->execute("INSERT INTO sim_order (saga, status, waits) VALUES ($1, 'PENDING', $2)", step.saga_id(),
                order.lock.empty() && order.when_busy != "wait" ? 0 : 1);
}
void fail_order(Local& step, SimOrder&) {
  step->execute("UPDATE sim_order SET status = 'FAILED' WHERE saga = $1", step.saga_id());
}

using Access = RowAccess::Kind;

// `sql` changes the row of `key` ($1) by or to $2, and counts its version up.
void change(Local& step, Access kind, std::string_view resource, const std::string& key, const std::string& sql,
            std::int64_t by) {
  const Rows written = step->query(sql + " RETURNING version", key, by);
  step->note({kind, resource, key, std::nullopt, written.get<std::int64_t>(0, 0)});
}
void move_stock(Local& step, const SimOrder& order, const std::string& set) {
  change(step, Access::add, "stock", order.sku,
         "UPDATE sim_stock SET version = version + 1, " + set + " WHERE sku = $1", order.quantity);
}

void reserve(Local& step, SimOrder& order) {
  move_stock(step, order, "quantity = quantity - $2, reserved = reserved + $2");
  step->execute("INSERT INTO sim_reservation (saga, sku, n) VALUES ($1, $2, $3)", step.saga_id(), order.sku,
                order.quantity);
  const Rows left = step->query("SELECT quantity, reserved FROM sim_stock WHERE sku = $1", order.sku);
  if (left.get<std::int64_t>(0, 0) >= 0) return;
  const auto others = left.get<std::int64_t>(0, 1) - order.quantity;
  if (order.when_busy == "wait" && left.get<std::int64_t>(0, 0) + others >= 0)
    throw Busy("BUSY", "simulated: others have enough", std::nullopt, Shortage{"units", order.sku, 3s});
  throw Refused("SOLD_OUT", "simulated: not enough");
}
void give_back(Local& step, SimOrder& order) {
  move_stock(step, order, "quantity = quantity + $2, reserved = reserved - $2");
  step->execute("DELETE FROM sim_reservation WHERE saga = $1", step.saga_id());
  step.freed("units", order.sku);
}

void confirm(Local& step, SimOrder& order, const Provider& provider) {
  const int attempt = step.context().attempt;
  if (order.forsaken && !provider.has_helped(step.saga_id())) throw Unavailable("FORSAKEN", "simulated: nobody there");
  if (attempt <= order.stubborn && attempt % 2 == 1) throw Busy("LATER", "simulated: not now");
  if (attempt <= order.stubborn) throw Refused("NO", "simulated: no, though it is too late for that");
  move_stock(step, order, "reserved = reserved - $2, sold = sold + $2");
  step->execute("DELETE FROM sim_reservation WHERE saga = $1", step.saga_id());
  step->execute("UPDATE sim_order SET status = 'CONFIRMED' WHERE saga = $1", step.saga_id());
}

Saga<SimOrder> order_saga(const Reach& reach, const Plan& plan) {
  return Saga<SimOrder>("sim.order")
      .local("create", does<SimOrder>(create_order))
      .undo(undoes<SimOrder>(fail_order))
      .local("reserve", does<SimOrder>(reserve))
      .undo(undoes<SimOrder>(give_back))
      .holds(
          "product", &SimOrder::sku,
          [reach](const SimOrder& order) {
            if (!order.lock.empty()) reach.provider.ponder();
            return mode_of(order);
          },
          when_busy_of)
      .remote("charge",
              [reach](Remote& step, SimOrder& order) {
                reach.provider.act(step, {order.declined, order.kills}, reach.wait);
              })
      .retry(3, 50ms)
      .pivot()
      .local("confirm", does<SimOrder>([reach](Local& step, SimOrder& order) { confirm(step, order, reach.provider); }))
      .when([reach](const SimOrder&) {
        reach.provider.ponder();
        return true;
      })
      .deadline(plan.saga_deadline);
}

std::int64_t balance(Local& step, const std::string& id) {
  const Rows row = step->query("SELECT balance, version FROM sim_account WHERE id = $1", id);
  step->note({Access::read, "account", id, row.get<std::int64_t>(0, 1), std::nullopt});
  return row.get<std::int64_t>(0, 0);
}
void set_balance(Local& step, const std::string& id, std::int64_t to) {
  change(step, Access::write, "account", id, "UPDATE sim_account SET version = version + 1, balance = $2 WHERE id = $1",
         to);
}
void add_balance(Local& step, const std::string& id, std::int64_t by) {
  change(step, Access::add, "account", id,
         "UPDATE sim_account SET version = version + 1, balance = balance + $2 WHERE id = $1", by);
}

void read_balances(Local& step, SimTransfer& t) {
  t.seen_from = balance(step, t.from);
  t.seen_to = balance(step, t.to);
  t.read_at = to_micros(step->now());
}

void look_again(Local& step, SimTransfer& t) {
  if (balance(step, t.to) != t.seen_to && t.locked)
    throw BrokenInvariant{"I8", "account " + t.to + " has changed under the lock of saga " + step.saga_id()};
}

void debit(Local& step, SimTransfer& t) {
  if (to_micros(step->now()) < t.read_at + t.think_ms * 1000)
    throw BrokenInvariant{"I5", "saga " + step.saga_id() + " has not slept for as long as it should"};
  set_balance(step, t.from, t.seen_from - t.amount);
}

void book(Local& step, SimTransfer& t) {
  step->execute("INSERT INTO sim_transfer (saga, debit, credit, amount) VALUES ($1, $2, $3, $4)", step.saga_id(),
                t.from, t.to, t.amount);
  if (t.refused) throw Refused("NO", "simulated: the business says no");
}

Saga<SimTransfer> transfer_saga() {
  return Saga<SimTransfer>("sim.transfer")
      .local("read", does<SimTransfer>(read_balances))
      .nothing_to_undo()
      .holds(
          "account", [](const SimTransfer& t) { return std::vector{t.from, t.to}; },
          [](const SimTransfer& t) { return t.locked ? std::optional(exclusive) : std::nullopt; },
          [](const SimTransfer&) { return wait_up_to(4s); })
      .commit()
      .sleep("think", [](const SimTransfer& t) { return t.think_ms * 1ms; })
      .local("debit", does<SimTransfer>(debit))
      .undo(undoes<SimTransfer>([](Local& step, SimTransfer& t) { add_balance(step, t.from, t.amount); }))
      .commit()
      .local("look again", does<SimTransfer>(look_again))
      .nothing_to_undo()
      .local("credit",
             does<SimTransfer>([](Local& step, SimTransfer& t) { set_balance(step, t.to, t.seen_to + t.amount); }))
      .undo(undoes<SimTransfer>([](Local& step, SimTransfer& t) { add_balance(step, t.to, -t.amount); }))
      .local("book", does<SimTransfer>(book))
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
      .local("first", does<SimTransfer>([](Local& step, SimTransfer& t) {
               enter(step, t.from);
               t.seen_to = 1;
             }))
      .undo(undoes<SimTransfer>([](Local& step, SimTransfer& t) {
        leave(step, t.from);
        t.seen_to = 0;
      }))
      .holds("place", &SimTransfer::from, exclusive, wait_up_to(4s))
      .commit()
      .sleep("think", [](const SimTransfer& t) { return t.think_ms * 1ms; })
      .local("second", does<SimTransfer>([](Local& step, SimTransfer& t) { enter(step, t.to); }))
      .undo(undoes<SimTransfer>([](Local& step, SimTransfer& t) { leave(step, t.to); }))
      .holds("place", known_later, exclusive, wait_up_to(4s))
      .commit()
      .local("out", does<SimTransfer>([](Local& step, SimTransfer& t) {
               leave(step, t.from);
               leave(step, t.to);
             }))
      .nothing_to_undo();
}

// Fully local: it ends in the transaction in which it takes its lock.
Saga<SimTransfer> key_saga() {
  return Saga<SimTransfer>("sim.key")
      .local("turn", does<SimTransfer>([](Local&, SimTransfer&) {}))
      .nothing_to_undo()
      .holds("place", &SimTransfer::from, exclusive, wait_up_to(4s));
}

Saga<SimTransfer> guard_saga() {
  return Saga<SimTransfer>("sim.guard")
      .child<SimTransfer>(
          "key", key_saga(),
          [](const SimTransfer& t) {
            SimTransfer copy = t;
            copy.trail.clear();
            return copy;
          },
          [](Local& step, SimTransfer& t, const SimTransfer&) { note(step, t, false); })
      .nothing_to_undo()
      .commit()
      .local("in", does<SimTransfer>([](Local& step, SimTransfer& t) { enter(step, t.from); }))
      .nothing_to_undo()
      .commit()
      .sleep("watch", [](const SimTransfer& t) { return t.think_ms * 1ms; })
      .local("out", does<SimTransfer>([](Local& step, SimTransfer& t) { leave(step, t.from); }))
      .nothing_to_undo();
}

void hear(Local&, SimTrip& trip, const RawJson& payload) { trip.heard.push_back(payload.text); }

Saga<SimTrip> trip_saga(const Reach& reach, const Plan& plan) {
  return Saga<SimTrip>("sim.trip")
      .remote("book", [reach](Remote& step, SimTrip&) { reach.provider.act(step, {}, reach.wait); })
      .undo([reach](Remote& step, SimTrip& trip) { reach.provider.cancel(step, trip.stuck, reach.wait); })
      .retry(3, 50ms)
      .holds(
          "product", &SimTrip::holds,
          [](const SimTrip& trip) { return trip.holds.empty() ? std::nullopt : std::optional(shared); },
          [](const SimTrip&) { return wait_up_to(3s); })
      .await("go", "go", hear)
      .timeout(2s)
      .local("pack", does<SimTrip>([](Local&, SimTrip&) {}))
      .undo(undoes<SimTrip>([](Local&, SimTrip&) {}))
      .await("sure", "go", hear)
      .timeout(3s)
      .child<SimOrder>(
          "order", order_saga(reach, plan), [](const SimTrip& trip) { return trip.order; },
          [](Local& step, SimTrip& trip, const SimOrder&) { note(step, trip, false); })
      .undo(undoes<SimTrip>([](Local&, SimTrip&) {}))
      .local("depart", does<SimTrip>([](Local&, SimTrip& trip) {
               if (trip.grounded) throw Refused("GROUNDED", "simulated: no flights");
             }))
      .nothing_to_undo()
      .deadline(plan.saga_deadline);
}

}  // namespace

void add_sagas(saga::Registry& registry, const Reach& reach, const Plan& plan) {
  registry.add(order_saga(reach, plan).definition());
  registry.add(transfer_saga().definition());
  registry.add(cross_saga().definition());
  registry.add(trip_saga(reach, plan).definition());
  registry.add(key_saga().definition());
  registry.add(guard_saga().definition());
}

void create_saga_tables(Database& db) {
  db.migrate(isolation::kComponent, isolation::isolation_migrations());
  db.migrate("sim.saga", kSagaMigrations);
  db.write("stock", [](Transaction& tx) {
    for (int i = 0; i < kProducts; ++i)
      tx.execute("INSERT INTO sim_stock VALUES ($1, $2, 0, 0, 1)", "p" + std::to_string(i), kStockPerProduct);
    for (int i = 0; i < kAccounts; ++i)
      tx.execute("INSERT INTO sim_account VALUES ($1, $2, 1)", "a" + std::to_string(i), kBalance);
  });
}

}  // namespace skald::sim
