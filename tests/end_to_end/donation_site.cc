#include "donation_site.h"

#include "donation/outcome.h"
#include "http/idempotency.h"
#include "store/tables/dead_letter.h"
#include "store/tables/outbox.h"

namespace skald::test {
namespace {

constexpr int kStepsMax = 100'000;  // a loop that never settles is a failure, not a hang

outbox::Membership::Kind kind_of(const Database& db) {
  return db.dialect() == Dialect::sqlite ? outbox::Membership::Kind::sole : outbox::Membership::Kind::leased;
}

}  // namespace

void CountingObserver::count(std::string_view metric, std::int64_t by) {
  const std::lock_guard lock(mutex_);
  counts_[std::string(metric)] += by;
}

std::int64_t CountingObserver::of(const std::string& metric) const {
  const std::lock_guard lock(mutex_);
  const auto found = counts_.find(metric);
  return found == counts_.end() ? 0 : found->second;
}

void ScriptedBus::send(Message message, Done done) {
  sent.push_back(message);
  held_.emplace_back(std::move(message), std::move(done));
}

void ScriptedBus::poll(Duration, std::span<const int>) {
  while (answer && !held_.empty()) {
    const auto [message, done] = std::move(held_.front());
    held_.pop_front();
    done(answer(message));
  }
}

Site::Site(Env env, Database& db, Bus& bus, SiteOptions options)
    : options_(std::move(options)),
      bus_(bus),
      file_(options_.fallback_file, options_.file_ops),
      engine(env, db, {.outbox = options_.outbox, .fallback_file = options_.fallback_file, .alert = {}}),
      routes(env, http::Authenticator(env, std::nullopt), "test"),
      undertaker(env, db, options_.fallback_file.empty() ? nullptr : &file_,
                 [this](std::string_view code, std::string_view) { alerts.emplace_back(code); }),
      membership(env, db, {"test", 1}, kind_of(db), options_.outbox),
      relay(env, db, membership, routing, undertaker, options_.outbox) {
  http::migrate_api_keys(db);
  donation::install(engine, routes, env, {.webhook = options_.has_webhook ? &bus : nullptr});
  // The engine is never started: the relay that is stepped here gets the same.
  if (options_.has_webhook) routing.add(Route{.type = std::string(donation::kAccepted), .bus = &bus});
  routing.on_settled(std::string(donation::kAccepted), donation::outcome_keeper(options_.has_webhook));
}

Response Site::call(std::string method, std::string path, std::string body,
                    std::map<std::string, std::string, std::less<>> headers) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.body = std::move(body);
  request.headers = std::move(headers);
  return routes.dispatch(std::move(request));
}

Response Site::call_as(const Caller& caller, std::string method, std::string path, std::string body) {
  Request request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.body = std::move(body);
  return routes.dispatch_as(caller, std::move(request));
}

void Site::run() {
  if (membership.view()->shares.empty()) beat();
  relay.wake(~std::uint64_t{0});
  for (int step = 0; step < kStepsMax; ++step) {
    if (relay.run_once() == Duration::zero()) continue;
    if (bus_.in_flight() == 0) return;
    bus_.poll(100ms);
  }
  FAIL() << "the relay never comes to rest";
}

void Site::run_until(const std::function<bool()>& happened) {
  if (membership.view()->shares.empty()) beat();
  relay.wake(~std::uint64_t{0});
  for (int step = 0; step < kStepsMax; ++step) {
    if (happened()) return;
    if (relay.run_once() > Duration::zero()) bus_.poll(20ms);
  }
  FAIL() << "what was waited for never happened";
}

void DonationTest::SetUp() { database = TestDatabase::of(GetParam(), env()); }

void DonationTest::start(Bus& over, SiteOptions options) {
  site = std::make_unique<Site>(env(), db(), over, std::move(options));
  if (on_postgres()) outlive_lease(*site);
  else site->beat();
}

void DonationTest::outlive_lease(Site& taker) {
  const OutboxOptions defaults;
  taker.beat();
  for (Duration waited{}; waited < defaults.lease; waited += defaults.beat) {
    clock.advance(defaults.beat);
    taker.beat();
  }
}

void DonationTest::crash() {
  site.reset();
  database->reopen();
}

std::string request_id_of(const Message& announcement) {
  return from_json<donation::Gift>(announcement.event.payload).request_id;
}

std::string gift_json(const std::string& request_id, const std::string& donor, const std::string& message) {
  return to_json(donation::Gift{request_id, donor, 500, "EUR", message});
}

donation::DonationView DonationTest::donate(const std::string& request_id, const std::string& donor,
                                            const std::string& message) {
  const Response response = site->call("POST", "/donation/donations", gift_json(request_id, donor, message));
  EXPECT_TRUE(response.status == 201 || response.status == 200) << response.body;
  return from_json<donation::DonationView>(response.body);
}

donation::DonationView DonationTest::show(const std::string& request_id) {
  const Response response = site->call("GET", "/donation/donations/" + request_id);
  EXPECT_EQ(response.status, 200) << response.body;
  return from_json<donation::DonationView>(response.body);
}

std::optional<Entry> DonationTest::entry(const std::string& request_id) {
  return db().read_result([&](Transaction& tx) -> std::optional<Entry> {
    const auto found = tx.select<donation::Donation>("WHERE asked_id = $1", request_id);
    return found.empty() ? std::nullopt : tables::outbox::find(tx, found.front().event_id);
  });
}

void DonationTest::sql(std::string_view statement) {
  db().write("test", [&](Transaction& tx) { tx.execute(statement); });
}

std::int64_t DonationTest::count(const std::string& from) {
  return db().read_result(
      [&](Transaction& tx) { return tx.query("SELECT COUNT(*) FROM " + from).get<std::int64_t>(0, 0); });
}

std::string DonationTest::reason_of_dead_letter(const std::string& event_id) {
  const auto letter = db().read_result([&](Transaction& tx) { return tables::dead_letter::find(tx, event_id); });
  return letter ? letter->reason : "none";
}

bool DonationTest::invariants_hold() {
  const Response response = site->call("GET", "/donation/invariants");
  EXPECT_EQ(response.status, 200) << response.body;
  const bool ok = response.body.starts_with("{\"ok\":true");
  if (!ok) std::printf("%s\n", response.body.c_str());
  return ok;
}

}  // namespace skald::test
