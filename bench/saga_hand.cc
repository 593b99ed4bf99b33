#include "saga_hand.h"

#include <array>
#include <stdexcept>

#include "donation.h"
#include "saga_order.h"
#include "workload.h"

namespace bench {
namespace {

constexpr const char* kSagaTable =
    "CREATE TABLE hand_saga (id TEXT PRIMARY KEY, status TEXT NOT NULL, step BIGINT NOT NULL, state TEXT NOT NULL, log "
    "TEXT NOT NULL, updated_at BIGINT NOT NULL);";
constexpr const char* kOutboxColumns =
    "saga_id TEXT NOT NULL, type TEXT NOT NULL, payload TEXT NOT NULL, created_at BIGINT NOT NULL)";
constexpr const char* kInsertSaga =
    "INSERT INTO hand_saga (id, status, step, state, log, updated_at) VALUES ($1, $2, $3, $4, $5, $6)";
constexpr const char* kUpdateSaga =
    "UPDATE hand_saga SET status = $2, step = $3, state = $4, updated_at = $5 WHERE id = $1";
constexpr const char* kInsertOutbox =
    "INSERT INTO hand_outbox (saga_id, type, payload, created_at) VALUES ($1, $2, $3, $4)";

constexpr std::array<PreparedSql::Named, 10> kStatements = {{{"begin", "BEGIN"},
                                                             {"commit", "COMMIT"},
                                                             {"create", kCreateOrder},
                                                             {"reserve", kReserveStock},
                                                             {"pay", kTakePayment},
                                                             {"release", kReleaseStock},
                                                             {"cancel", kCancelOrder},
                                                             {"insert", kInsertSaga},
                                                             {"update", kUpdateSaga},
                                                             {"event", kInsertOutbox}}};

constexpr const char* kStepDone = "order.step-done";
constexpr const char* kSomeTime = "1800000000000000";
// As long as the one that Skald keeps.
const std::string kLog =
    "{\"name\":\"create order\",\"status\":\"DONE\",\"at\":1800000000000000}\n"
    "{\"name\":\"reserve stock\",\"status\":\"DONE\",\"at\":1800000000000000}\n"
    "{\"name\":\"take payment\",\"status\":\"DONE\",\"at\":1800000000000000}\n";

std::string state_of(std::int64_t n) { return skald::to_json(order_of(n)); }
std::string sku_of(std::int64_t n) { return std::to_string(order_of(n).sku); }

}  // namespace

void PostgresOrders::create_tables(const std::string& url) {
  Sql(url).run(kSagaTable + ("CREATE TABLE hand_outbox (id BIGSERIAL PRIMARY KEY, " + std::string(kOutboxColumns)));
}

PostgresOrders::PostgresOrders(const std::string& url, bool pipelined) : sql_(url, kStatements, pipelined) {}

void PostgresOrders::reserve(const char* sku) {
  sql_.add("reserve", {sku});
  if (sql_.flush().back() != 1) throw std::runtime_error("the stock is empty");
}

void PostgresOrders::update(const std::string& id, std::int64_t n, const char* status, const char* step) {
  sql_.add("update", {id.c_str(), status, step, state_of(n).c_str(), kSomeTime});
}

void PostgresOrders::tell(const std::string& id, std::int64_t n) {
  const char* const type = is_declined(n) ? kOrderCancelled : kOrderPlaced;
  sql_.add("event", {id.c_str(), type, payload_of(n).c_str(), kSomeTime});
}

void PostgresOrders::commit() {
  sql_.add("commit", {});
  sql_.flush();
}

void PostgresOrders::by_steps(std::int64_t n) {
  const std::string id = donation_id(n), sku = sku_of(n);
  sql_.add("begin", {});
  sql_.add("create", {id.c_str(), sku.c_str()});
  sql_.add("insert", {id.c_str(), "RUNNING", "1", state_of(n).c_str(), "", kSomeTime});
  commit();

  sql_.add("begin", {});
  reserve(sku.c_str());
  update(id, n, "RUNNING", "2");
  commit();

  sql_.add("begin", {});
  if (is_declined(n)) {
    sql_.add("release", {sku.c_str()});
    update(id, n, "COMPENSATING", "1");
    commit();
    sql_.add("begin", {});
    sql_.add("cancel", {id.c_str()});
    update(id, n, "COMPENSATED", "0");
  } else {
    sql_.add("pay", {id.c_str()});
    update(id, n, "COMPLETED", "3");
  }
  tell(id, n);
  commit();
}

void PostgresOrders::fused(std::int64_t n) {
  const std::string id = donation_id(n), sku = sku_of(n);
  sql_.add("begin", {});
  sql_.add("create", {id.c_str(), sku.c_str()});
  reserve(sku.c_str());
  if (is_declined(n)) {
    sql_.add("release", {sku.c_str()});
    sql_.add("cancel", {id.c_str()});
  } else {
    sql_.add("pay", {id.c_str()});
  }
  const char* const status = is_declined(n) ? "COMPENSATED" : "COMPLETED";
  sql_.add("insert", {id.c_str(), status, "3", state_of(n).c_str(), kLog.c_str(), kSomeTime});
  tell(id, n);
  commit();
}

namespace {

std::string with_tables(const std::string& path) {
  PlainSqlite db(path);
  db.run(kOrderSchema);
  db.run(kSagaTable + ("CREATE TABLE hand_outbox (id INTEGER PRIMARY KEY, " + std::string(kOutboxColumns)));
  return path;
}

}  // namespace

SqliteOrders::SqliteOrders(const std::string& path, int steps_per_commit)
    : db_(with_tables(path)),
      steps_per_commit_(steps_per_commit),
      begin_(db_.prepare("BEGIN IMMEDIATE")),
      commit_(db_.prepare("COMMIT")),
      create_(db_.prepare(kCreateOrder)),
      reserve_(db_.prepare(kReserveStock)),
      pay_(db_.prepare(kTakePayment)),
      release_(db_.prepare(kReleaseStock)),
      cancel_(db_.prepare(kCancelOrder)),
      insert_(db_.prepare(kInsertSaga)),
      update_(db_.prepare(kUpdateSaga)),
      event_(db_.prepare(kInsertOutbox)) {}

void SqliteOrders::begin_step() {
  if (steps_ == 0) begin_.run();
}

void SqliteOrders::end_step(const std::string& id, std::int64_t n, std::string_view event) {
  event_.run({id, event, payload_of(n), 0});
  if (++steps_ < steps_per_commit_) return;
  commit_.run();
  steps_ = 0;
}

void SqliteOrders::update(const std::string& id, std::int64_t n, std::string_view status, std::int64_t step) {
  update_.run({id, status, step, state_of(n), 0});
}

void SqliteOrders::by_steps(std::int64_t n) {
  const std::string id = donation_id(n);
  const std::int64_t sku = order_of(n).sku;
  begin_step();
  create_.run({id, sku});
  insert_.run({id, "RUNNING", 1, state_of(n), "", 0});
  end_step(id, n, kStepDone);
  begin_step();
  if (reserve_.run({sku}) != 1) throw std::runtime_error("the stock is empty");
  update(id, n, "RUNNING", 2);
  end_step(id, n, kStepDone);
  begin_step();
  if (is_declined(n)) {
    release_.run({sku});
    update(id, n, "COMPENSATING", 1);
    end_step(id, n, kStepDone);
    begin_step();
    cancel_.run({id});
    update(id, n, "COMPENSATED", 0);
  } else {
    pay_.run({id});
    update(id, n, "COMPLETED", 3);
  }
  end_step(id, n, is_declined(n) ? kOrderCancelled : kOrderPlaced);
}

}  // namespace bench
