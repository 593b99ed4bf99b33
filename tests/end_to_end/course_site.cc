#include "end_to_end/course_site.h"

#include "http/idempotency.h"
#include "http/jwt.h"

namespace skald::test {
namespace {

constexpr const char* kSecret = "a secret of some length";
constexpr const char* kTrace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

}  // namespace

void Noted::count(std::string_view metric, std::int64_t by) {
  const std::lock_guard lock(mutex_);
  counts_[std::string(metric)] += by;
}

void Noted::timing(std::string_view metric, Duration) {
  const std::lock_guard lock(mutex_);
  ++timings_[std::string(metric)];
}

std::map<std::string, int> Noted::timed(const std::string& prefix) const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, int> out;
  for (const auto& [metric, times] : timings_)
    if (metric.starts_with(prefix)) out.emplace(metric, times);
  return out;
}

void Noted::log(Level, std::string_view message, std::string_view fields) {
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(message, fields);
}

std::int64_t Noted::of(const std::string& metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(metric);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<std::string> Noted::lines(const std::string& message) const {
  const std::lock_guard lock(mutex_);
  std::vector<std::string> out;
  for (const auto& [text, fields] : lines_)
    if (text == message) out.push_back(fields);
  return out;
}

GolfTest::GolfTest() {
  if (GetParam() == Dialect::sqlite) {
    db_ = TestDatabase::sqlite(env_);
  } else {
    PostgresOptions options;
    options.before_statement = [this](std::string_view sql) {
      std::function<void()> call;
      {
        const std::lock_guard lock(mutex_);
        if (meddle_ && sql.find(watched_) != sql.npos) call = meddle_;
      }
      if (call) call();
    };
    db_ = TestDatabase::postgres(env_, options);
  }
  engine_ = std::make_unique<Engine>(env_, **db_, EngineOptions{});
  http::migrate_api_keys(**db_);
  routes_ = std::make_unique<http::Routes>(
      env_, http::Authenticator(env_, kSecret, http::Authenticator::Tokenless::admin), "test");
  engine_->consume({.name = "test.end", .type = "test.end", .handle = [this](Transaction& tx, const Message& message) {
                      tx.after_commit([this, id = message.event.id] {
                        const std::lock_guard lock(mutex_);
                        ended_.insert(id);
                        ended_one_.notify_all();
                      });
                    }});
}

GolfTest::~GolfTest() { engine_->stop(1s); }

void GolfTest::start() { engine_->start(); }

Response GolfTest::dispatch(const std::string& method, const std::string& path, const std::string& body,
                            const std::string& authorization) {
  Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  if (!authorization.empty()) request.headers["authorization"] = authorization;
  return routes_->dispatch(std::move(request));
}

Response GolfTest::call(const std::string& method, const std::string& path, const std::string& body) {
  return dispatch(method, path, body, "");
}

Response GolfTest::call_as(Role role, const std::string& subject, const std::string& method, const std::string& path,
                           const std::string& body) {
  return dispatch(method, path, body,
                  "Bearer " + http::sign_token(kSecret, {subject, role, clock_->now(), clock_->now() + 1h}));
}

void GolfTest::land(const std::string& id, const std::string& type, const std::string& key,
                    const std::string& payload) {
  const Message message{{.id = id, .type = type, .key = key, .subject = "", .payload = payload, .traceparent = kTrace},
                        "/booking",
                        clock_->now(),
                        1,
                        false};
  engine_->land(std::span(&message, 1));
}

// The end has the key of what went before it, and comes behind it.
void GolfTest::settle(const std::string& key) {
  const std::string id = "end-" + std::to_string(++ends_);
  land(id, "test.end", key, "{}");
  std::unique_lock lock(mutex_);
  ASSERT_TRUE(ended_one_.wait_for(lock, std::chrono::seconds(30), [&] { return ended_.contains(id); }))
      << "the events of key " << key << " are not handled in time";
}

std::vector<Told> GolfTest::told() {
  return (*db_)->read_result([](Transaction& tx) {
    const Rows rows = tx.query(
        "SELECT type, key, subject, payload, traceparent FROM skald_outbox WHERE type <> 'test.end' AND source = '' "
        "ORDER BY seq");
    std::vector<Told> out;
    for (std::size_t i = 0; i < rows.size(); ++i)
      out.push_back({rows.get<std::string>(i, 0), rows.get<std::string>(i, 1), rows.get<std::string>(i, 2),
                     rows.get<std::string>(i, 3), rows.get<std::string>(i, 4)});
    return out;
  });
}

std::vector<std::string> GolfTest::told_types() {
  std::vector<std::string> out;
  for (const Told& one : told()) out.push_back(one.type);
  return out;
}

std::int64_t GolfTest::number(const std::string& sql) {
  return (*db_)->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
}

void GolfTest::execute(const std::string& sql) {
  (*db_)->write("test", [&](Transaction& tx) { tx.execute(sql); });
}

void GolfTest::before(const std::string& text, std::function<void()> call) {
  const std::lock_guard lock(mutex_);
  watched_ = text;
  meddle_ = std::move(call);
}

std::string database_of(const testing::TestParamInfo<Dialect>& info) {
  return info.param == Dialect::sqlite ? "SQLite" : "PostgreSQL";
}

std::string problem_of(const Response& response) {
  return std::string(json::parse(response.body).as_object().at("code").as_string());
}

}  // namespace skald::test
