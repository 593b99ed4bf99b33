// Two API processes on one PostgreSQL, and one Idempotency-Key: one order, however long either waits for row locks.
#include <future>

#include "end_to_end/order_site.h"
#include "http/idempotency.h"

namespace skald::test {
namespace {

using order::OrderView;
using order::Status;

constexpr const char* kLampWanted = R"({"sku":"lamp","quantity":1})";

class TwoProcesses : public testing::Test {
 protected:
  // What a process has for itself.
  struct Process {
    Process(Env env, const std::string& url, const std::string& provider, Duration lock_timeout)
        : db(open_postgres(env, {.url = url, .connections = 8, .lock_timeout = lock_timeout})),
          engine(env, *db, EngineOptions{.saga_threads = 4}),
          routes(env, http::Authenticator(env, std::nullopt), "test") {
      http::migrate_api_keys(*db);
      order::install(engine, routes, env, {.provider = provider, .pause = rest});
      engine.start();
    }
    ~Process() { engine.stop(1s); }
    Response call(const std::string& method, const std::string& path, const std::string& body = "",
                  const std::string& key = "") const {
      Request request;
      request.method = method;
      request.path = path;
      request.body = body;
      if (!key.empty()) request.headers["idempotency-key"] = key;
      return routes.dispatch(std::move(request));
    }
    Response place() const { return call("POST", "/order/orders", kLampWanted, "k"); }

    std::unique_ptr<Database> db;
    Engine engine;
    http::Routes routes;
  };

  std::unique_ptr<Process> process(Duration lock_timeout) {
    return std::make_unique<Process>(env_, server_.url(), sandbox_.url(), lock_timeout);
  }
  std::int64_t count(const std::string& sql) {
    return own_->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
  }
  void until(const std::function<bool()>& ready, const std::string& what) {
    const Instant end = clock_->steady() + 20s;
    while (!ready()) {
      ASSERT_LT(clock_->steady(), end) << "not in time: " << what;
      rest(2ms);
    }
  }
  // Somebody is at what `sql` locks: others wait for it until it is let go, or this ends.
  class Holder {
   public:
    Holder(Database& db, std::string_view sql) {
      const auto held = std::make_shared<std::promise<void>>();
      done_ = std::async(std::launch::async, [&db, sql, held, gate = gate_] {
        db.write("hold", [&](Transaction& tx) {
          tx.query(sql);
          held->set_value();
          gate->wait();
        });
      });
      held->get_future().wait();
    }
    ~Holder() { gate_->open(); }
    void let_go() {
      gate_->open();
      done_.get();
    }

   private:
    std::shared_ptr<Gate> gate_ = std::make_shared<Gate>();
    std::future<void> done_;
  };
  static constexpr std::string_view kTheLamp = "SELECT 1 FROM order_product WHERE sku = 'lamp' FOR UPDATE";
  static constexpr std::string_view kTheKey = "SELECT 1 FROM skald_api_key FOR UPDATE";

  bool somebody_waits_for_the_lamp() {
    return count(
               "SELECT COUNT(*) FROM pg_stat_activity WHERE datname = current_database() "
               "AND wait_event_type = 'Lock' AND query LIKE '%order_product%'") == 1;
  }
  void expect_one_order(Process& at, const std::string& id) {
    until([&] { return count("SELECT COUNT(*) FROM order_record WHERE status = 'PENDING'") == 0; }, "the order's end");
    EXPECT_EQ(from_json<OrderView>(at.call("GET", "/order/orders/" + id).body).status, Status::CONFIRMED);
    EXPECT_EQ(count("SELECT COUNT(*) FROM order_record"), 1);
    EXPECT_EQ(sandbox_.charges(), 1);
  }

  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  SandboxProvider sandbox_{env_};
  ScratchPostgres server_;
  std::unique_ptr<Database> own_ =
      open_postgres(env_, {.url = server_.url(), .connections = 4, .idle_in_transaction_timeout = 60s});
};

const char* const kLampOffered = R"({"sku":"lamp","name":"a lamp","price":100,"currency":"EUR","stock":5})";

TEST_F(TwoProcesses, WhoGivesUpWaitingForRowLocksLeavesTheKeyToTheOneThatStillWaits) {
  const auto first = process(60s), second = process(500ms);
  ASSERT_EQ(first->call("POST", "/order/products", kLampOffered).status, 201);
  Holder holder(*own_, kTheLamp);
  auto waiting = std::async(std::launch::async, [&] { return first->place(); });
  until([&] { return somebody_waits_for_the_lamp(); }, "the first request waits for the lamp");
  for (int i = 0; i < 2; ++i) {
    const Response refused = second->place();
    ASSERT_EQ(refused.status, 409) << "another order: " << refused.body;
    EXPECT_EQ(code_of(refused), "LOCK_TIMEOUT");
  }
  holder.let_go();
  const Response placed = waiting.get();
  ASSERT_EQ(placed.status, 202) << placed.body;
  EXPECT_EQ(second->place().body, placed.body);
  EXPECT_EQ(first->place().body, placed.body);
  expect_one_order(*second, from_json<OrderView>(placed.body).id);
}

TEST_F(TwoProcesses, ARequestThatGivesUpWaitingItselfIsFoundByTheOther) {
  const auto first = process(500ms), second = process(60s);
  ASSERT_EQ(first->call("POST", "/order/products", kLampOffered).status, 201);
  Holder holder(*own_, kTheLamp);
  const Response placed = first->place();  // its order is begun, and tried again
  ASSERT_EQ(placed.status, 202) << placed.body;
  auto elsewhere = std::async(std::launch::async, [&] { return second->place(); });
  EXPECT_EQ(first->place().body, placed.body);
  holder.let_go();
  EXPECT_EQ(elsewhere.get().body, placed.body);
  EXPECT_EQ(count("SELECT COUNT(*) FROM order_record"), 1);
}

// As a process that died between its order and its answer leaves it.
TEST_F(TwoProcesses, AnOrderWithoutAnAnswerIsFoundThoughSomebodyGaveUpWaitingInBetween) {
  const auto first = process(60s), second = process(500ms);
  ASSERT_EQ(first->call("POST", "/order/products", kLampOffered).status, 201);
  const std::string id = from_json<OrderView>(first->place().body).id;
  expect_one_order(*first, id);
  own_->write("forget", [](Transaction& tx) { tx.execute("UPDATE skald_api_key SET status = 0"); });
  Holder holder(*own_, kTheKey);
  EXPECT_EQ(code_of(second->place()), "LOCK_TIMEOUT") << "the key's own row is locked";
  holder.let_go();
  EXPECT_EQ(from_json<OrderView>(second->place().body).id, id);
  expect_one_order(*second, id);
}

}  // namespace
}  // namespace skald::test
