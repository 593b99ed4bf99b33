#include "end_to_end/order_site.h"

#include "http/idempotency.h"
#include "order/invariants.h"
#include "order/provider_api.h"
#include "order/sandbox.h"
#include "runtime/wakeup.h"

namespace skald::test {
namespace {

Request request_of(const std::string& method, const std::string& path, const std::string& body) {
  Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  return request;
}

}  // namespace

void CountedMetrics::count(std::string_view metric, std::int64_t by) {
  const std::lock_guard lock(mutex_);
  counts_[std::string(metric)] += by;
}

std::int64_t CountedMetrics::of(const std::string& metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(metric);
  return found == counts_.end() ? 0 : found->second;
}

void CountedMetrics::gauge(std::string_view metric, double value) {
  const std::lock_guard lock(mutex_);
  gauges_[std::string(metric)] = value;
}

std::optional<double> CountedMetrics::last(const std::string& metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = gauges_.find(metric);
  return found == gauges_.end() ? std::nullopt : std::optional(found->second);
}

void CountedMetrics::log(Level level, std::string_view message, std::string_view fields) {
  const std::lock_guard lock(mutex_);
  lines_.push_back({level, std::string(message), json::parse("{" + std::string(fields) + "}").as_object()});
}

std::vector<CountedMetrics::Line> CountedMetrics::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

void rest(Duration time) { runtime::Wakeup().wait(time); }

// Between the sandbox and its server: changes what POSTs are answered.
class SandboxProvider::Tampering final : public Router {
 public:
  explicit Tampering(SandboxProvider& provider) : provider_(provider), real_(provider.routes_) {}
  void get(std::string path, Access access, Doc doc, Handler handler) override {
    real_.get(std::move(path), access, std::move(doc), std::move(handler));
  }
  void write(std::string method, std::string path, Access access, Doc doc, WriteChoice choose) override {
    real_.write(std::move(method), std::move(path), access, std::move(doc), std::move(choose));
  }
  void stream(std::string path, Access access, Doc doc, StreamHandler handler) override {
    real_.stream(std::move(path), access, std::move(doc), std::move(handler));
  }
  void act(std::string path, Access access, Doc doc, Handler handler) override {
    real_.act(std::move(path), access, std::move(doc), [&provider = provider_, handler](const Request& request) {
      const auto wrong = provider.next_wrong_answer();
      if (wrong && wrong->gate) wrong->gate->wait();
      if (const auto held = provider.held()) held->wait();
      if (!wrong || wrong->status == 0) return handler(request);
      if (wrong->takes_effect) handler(request);
      return Response{wrong->status, wrong->body, "application/json", {}};
    });
  }
  void act_once(Database& db, std::string path, Access access, Doc doc, Handler handler) override {
    real_.act_once(db, std::move(path), access, std::move(doc), std::move(handler));
  }

 private:
  SandboxProvider& provider_;
  http::Routes& real_;
};

void SandboxProvider::answer_wrongly(WrongAnswer answer) {
  const std::lock_guard lock(mutex_);
  wrong_.push_back(std::move(answer));
}

bool SandboxProvider::has_answered_wrongly() const {
  const std::lock_guard lock(mutex_);
  return wrong_.empty();
}

void SandboxProvider::hold_back() {
  const std::lock_guard lock(mutex_);
  if (!held_) held_ = std::make_shared<Gate>();
}

void SandboxProvider::let_go() {
  const std::lock_guard lock(mutex_);
  if (held_) held_->open();
  held_.reset();
}

std::shared_ptr<Gate> SandboxProvider::held() const {
  const std::lock_guard lock(mutex_);
  return held_;
}

std::optional<WrongAnswer> SandboxProvider::next_wrong_answer() {
  const std::lock_guard lock(mutex_);
  if (wrong_.empty()) return std::nullopt;
  WrongAnswer out = std::move(wrong_.front());
  wrong_.pop_front();
  return out;
}

SandboxProvider::SandboxProvider(Env env)
    : db_(TestDatabase::sqlite(env, {.path = "", .full_sync = false})),
      routes_(env, http::Authenticator(env, std::nullopt), "test"),
      handlers_(std::make_unique<runtime::WorkerPool>(32)) {
  http::migrate_api_keys(**db_);
  Tampering router(*this);
  order::install_sandbox(**db_, router, env, rest);
  http::ServerOptions options;
  options.port = 0;
  server_ = std::make_unique<http::Server>(env, options, routes_, publisher_,
                                           [this](std::function<void()> job) { handlers_->post(std::move(job)); });
  network_ = std::make_unique<runtime::WorkerPool>(1);
  network_->post([this] { server_->run(); });
}

SandboxProvider::~SandboxProvider() {
  server_->stop(Duration::zero());
  network_.reset();
  handlers_.reset();
}

Response SandboxProvider::call(const std::string& method, const std::string& path, const std::string& body) const {
  return routes_.dispatch(request_of(method, path, body));
}

std::int64_t SandboxProvider::sum(const std::string& status) const {
  return (*db_)->read_result([&](Transaction& tx) {
    return tx.query("SELECT COALESCE(SUM(amount), 0) FROM sandbox_charge WHERE status = $1", status)
        .get<std::int64_t>(0, 0);
  });
}

std::int64_t SandboxProvider::charges() const {
  return (*db_)->read_result([](Transaction& tx) {
    return tx.query("SELECT COUNT(*) FROM sandbox_charge WHERE status IN ('CHARGED', 'REFUNDED')")
        .get<std::int64_t>(0, 0);
  });
}

OrderTest::OrderTest(Options options) : options_(std::move(options)) { open(); }
OrderTest::~OrderTest() {
  sandbox_.let_go();
  engine_->stop(1s);
}

void OrderTest::open() {
  Database& db = **db_;
  engine_ = std::make_unique<Engine>(
      env_, db, EngineOptions{.saga_threads = 8, .saga_patience = 3s, .record_history = options_.record_history});
  http::migrate_api_keys(db);
  routes_ = std::make_unique<http::Routes>(env_, http::Authenticator(env_, std::nullopt), "test");
  order::install(*engine_, *routes_, env_,
                 {.provider = options_.provider.empty() ? sandbox_.url() : options_.provider,
                  .call_timeout = options_.call_timeout,
                  .deadline = options_.deadline,
                  .pause = rest});
  engine_->start();
}

void OrderTest::restart_engine() {
  engine_->stop(1s);
  engine_.reset();
  db_->reopen();
  open();
}

Response OrderTest::call(const std::string& method, const std::string& path, const std::string& body,
                         std::map<std::string, std::string, std::less<>> headers) {
  Request request = request_of(method, path, body);
  request.headers = std::move(headers);
  return routes_->dispatch(std::move(request));
}

void OrderTest::offer(const std::string& sku, std::int64_t stock, std::int64_t price) {
  const Response response =
      call("POST", "/order/products", to_json(order::NewProduct{sku, "a " + sku, price, "EUR", stock}));
  ASSERT_EQ(response.status, 201) << response.body;
}

order::OrderView OrderTest::placed(const std::string& body) {
  const Response response = call("POST", "/order/orders", body);
  EXPECT_EQ(response.status, 202) << response.body;
  return response.status == 202 ? from_json<order::OrderView>(response.body) : order::OrderView{};
}

order::OrderView OrderTest::place(const std::string& sku, std::int64_t quantity, const std::string& more) {
  return placed("{\"sku\":\"" + sku + "\",\"quantity\":" + std::to_string(quantity) + more + "}");
}

order::OrderView OrderTest::show(const std::string& id) {
  const Response response = call("GET", "/order/orders/" + id);
  EXPECT_EQ(response.status, 200) << response.body;
  return from_json<order::OrderView>(response.body);
}

void OrderTest::until(const std::function<bool()>& ready, const std::string& what, Duration patience) {
  const Instant end = env_.clock.steady() + patience;
  while (!ready()) {
    if (env_.clock.steady() > end) {
      FAIL() << "not in time: " << what;
    }
    rest(2ms);
  }
}

SagaView OrderTest::saga(const std::string& id) {
  return (*db_)->read_result([&](Transaction& tx) { return *engine_->sagas().find(tx, id); });
}

order::OrderView OrderTest::ended(const std::string& id) {
  order::OrderView view;
  until([&] { return (view = show(id)).status != order::Status::PENDING; }, "the end of order " + id);
  return view;
}

order::OrderView OrderTest::becomes(const std::string& id, order::Status status) {
  order::OrderView view;
  until([&] { return (view = show(id)).status == status; }, "order " + id + " is " + std::string(enum_name(status)));
  return view;
}

order::ProductView OrderTest::product(const std::string& sku) {
  return from_json<order::ProductView>(call("GET", "/order/products/" + sku).body);
}

void OrderTest::provider(const std::string& change) {
  const Response response = call("PUT", "/order/provider", change);
  ASSERT_EQ(response.status, 200) << response.body;
}

void OrderTest::expect_invariants() {
  const Response response = call("GET", "/order/invariants");
  ASSERT_EQ(response.status, 200) << response.body;
  const auto found = from_json<Invariants>(response.body);
  for (const Check& check : found.checks) EXPECT_TRUE(check.ok) << check.name << ": " << check.detail;
  EXPECT_GE(found.checks.size(), 10u);
  if (options_.record_history) {
    EXPECT_EQ(anomalies(), "");
  }
}

std::string OrderTest::anomalies() {
  const auto history = (*db_)->read_result([&](Transaction& tx) { return engine_->sagas().history(tx, 0, 1'000'000); });
  EXPECT_FALSE(history.empty());
  const auto found = checker::check(history, {.to_the_end = false});  // some may still run
  return found.empty() ? "" : checker::findings_text(found);
}

std::int64_t OrderTest::rows(const std::string& sql) {
  return (*db_)->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
}

std::string database_name(const testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::sqlite ? "SQLite" : "PostgreSQL";
}

std::string code_of(const Response& response) {
  return std::string(json::parse(response.body).as_object().at("code").as_string());
}

std::string reason_of(const order::OrderView& order) {
  return order.reason ? order.reason->code : std::string(enum_name(order.status));
}

}  // namespace skald::test
