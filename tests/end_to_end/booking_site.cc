#include "end_to_end/booking_site.h"

#include "golf/ways.h"
#include "http/idempotency.h"
#include "http/story_paths.h"
#include "runtime/wakeup.h"
#include "skald/checklist.h"

namespace skald::test {
namespace {

constexpr Duration kPatience = std::chrono::seconds(20);

std::vector<std::string> texts_of(const std::string& body, std::string_view member) {
  std::vector<std::string> out;
  const auto listed = json::parse(body);
  for (const auto& item : listed.as_object().at("items").as_array())
    out.emplace_back(item.as_object().at(member).as_string());
  return out;
}

}  // namespace

BookingTest::BookingTest(Observer& observer) : env_{*clock_, *random_, observer} {
  if (GetParam() == Deployment::distributed) nats_ = std::make_unique<NatsServer>();
  open({});
}

BookingTest::~BookingTest() { close(); }

void BookingTest::open(host::Unit& unit, const std::string& name) {
  unit.service = name;
  if (GetParam() == Deployment::embedded) {
    unit.database = open_sqlite(env_, {.path = (folder_.path() / (name + ".db")).string()});
  } else {
    auto& server = servers_[GetParam() == Deployment::shared ? "" : name];
    if (!server) server = std::make_unique<ScratchPostgres>();
    unit.database = open_postgres(env_, {.url = server->url(), .schema = name, .connections = 8});
  }
  EngineOptions options;
  options.outbox.source = "/" + name;
  options.outbox.backoff_first = 200ms;
  unit.engine = std::make_unique<Engine>(env_, *unit.database, options);
  http::migrate_api_keys(*unit.database);
}

void BookingTest::open(booking::Options options) {
  open(booking_, "booking");
  open(course_, "course");
  open(notify_, "notify");
  routes_ = std::make_unique<http::Routes>(env_, http::Authenticator(env_, std::nullopt), "test");
  const host::BookingUnits all{&booking_, &course_, &notify_};
  connect(all);
  course_.engine->consume({.name = "test", .type = "slot.reserve", .handle = [this](Transaction&, const Message&) {
                             if (failing_) throw Conflict("BROKEN", "the handler is broken");
                           }});
  host::install_booking_system(env_, all, *routes_, {.booking = std::move(options)});
  http::add_story_path(*routes_,
                       {http::story_of({"booking", *booking_.engine}), http::story_of({"course", *course_.engine}),
                        http::story_of({"notify", *notify_.engine})});
  for (host::Unit* unit : units()) unit->engine->start();
}

void BookingTest::connect(const host::BookingUnits& all) {
  for (const golf::Way& way : golf::kWays)
    ways_[std::string(way.type)].to = way.to == "booking" ? &booking_ : way.to == "course" ? &course_ : &notify_;
  const host::Taking taking = [this](host::Unit& to) {
    PostHandlers handlers = host::take_by_engine(to);
    handlers.accept = [this, &to](std::span<const Letter> letters) { return take(to, letters); };
    return handlers;
  };
  if (GetParam() != Deployment::distributed) return host::connect_in_process(all, taking);
  NatsOptions server;
  server.urls = {nats_->url()};
  host::connect_by_nats(env_, all, server, taking);
}

std::vector<Receipt> BookingTest::take(host::Unit& to, std::span<const Letter> letters) {
  if (refusing_) return std::vector<Receipt>(letters.size());
  std::vector<Letter> passing(letters.begin(), letters.end());
  for (Letter& letter : passing) keep_what_is_held(letter);
  return to.engine->accept(passing);
}

void BookingTest::keep_what_is_held(Letter& letter) {
  const std::lock_guard lock(mutex_);
  std::erase_if(letter.events, [this](const Message& message) {
    Way& way = ways_.at(message.event.type);
    if (way.held) way.messages.push_back(message);
    return way.held;
  });
}

void BookingTest::close() {
  for (host::Unit* unit : units()) unit->engine->stop(2s);
  for (host::Unit* unit : units()) {
    unit->engine.reset();
    *unit = {};
  }
}

void BookingTest::restart(booking::Options options) {
  close();
  open(std::move(options));
}

Response BookingTest::call(const Caller& caller, const std::string& method, const std::string& path,
                           const std::string& body, std::map<std::string, std::string, std::less<>> headers) {
  Request request;
  request.method = method;
  request.path = path;
  request.body = body;
  request.headers = std::move(headers);
  return routes_->dispatch_as(caller, std::move(request));
}

std::string BookingTest::offer(std::int64_t players, Duration from_now, std::int64_t price) {
  const Response course = call(kAdmin, "POST", "/booking/courses", R"({"name":"Riverside"})");
  EXPECT_EQ(course.status, 201) << course.body;
  const std::string course_id(json::parse(course.body).as_object().at("id").as_string());
  const Response slot =
      call(kAdmin, "POST", "/booking/slots",
           R"({"courseId":")" + course_id + R"(","startsAt":")" + format_time(clock_->now() + from_now) +
               R"(","maxPlayers":)" + std::to_string(players) + R"(,"pricePerPlayer":)" + std::to_string(price) + "}");
  EXPECT_EQ(slot.status, 201) << slot.body;
  const std::string id(json::parse(slot.body).as_object().at("id").as_string());
  until([&] { return count(booking_, "SELECT COUNT(*) FROM booking_slot WHERE id = '" + id + "'") == 1; },
        "the copy of slot " + id);
  return id;
}

golf::Slot BookingTest::slot(const std::string& id) {
  return from_json<golf::Slot>(call(kAdmin, "GET", "/booking/slots/" + id).body);
}

booking::BookingView BookingTest::book(const std::string& slot, std::int64_t players, const std::string& who) {
  const Response response = call(customer(who), "POST", "/booking/bookings",
                                 R"({"slotId":")" + slot + R"(","players":)" + std::to_string(players) + "}");
  EXPECT_EQ(response.status, 202) << response.body;
  return response.status == 202 ? from_json<booking::BookingView>(response.body) : booking::BookingView{};
}

booking::BookingView BookingTest::show(const std::string& id) {
  const Response response = call(kAdmin, "GET", "/booking/bookings/" + id);
  EXPECT_EQ(response.status, 200) << response.body;
  return from_json<booking::BookingView>(response.body);
}

booking::BookingView BookingTest::becomes(const std::string& id, booking::Status status) {
  booking::BookingView view;
  until([&] { return (view = show(id)).status == status; }, "booking " + id + " is " + std::string(enum_name(status)));
  return view;
}

booking::BookingView BookingTest::cancel(const std::string& id, const Caller& caller) {
  const Response response = call(caller, "POST", "/booking/bookings/" + id + "/cancel", R"({"reason":"rain"})");
  EXPECT_EQ(response.status, 200) << response.body;
  return response.status == 200 ? from_json<booking::BookingView>(response.body) : booking::BookingView{};
}

std::vector<std::string> BookingTest::history(const std::string& id) {
  return texts_of(call(kAdmin, "GET", "/booking/bookings/" + id + "/history").body, "what");
}

std::vector<std::string> BookingTest::told(const std::string& id) {
  return texts_of(call(kAdmin, "GET", "/booking/bookings/" + id + "/notifications").body, "kind");
}

std::int64_t BookingTest::count(const host::Unit& unit, const std::string& sql) {
  return unit.database->read_result([&](Transaction& tx) { return tx.query(sql).get<std::int64_t>(0, 0); });
}

void BookingTest::change(const host::Unit& unit, const std::string& sql) {
  unit.database->write("change", [&](Transaction& tx) { ASSERT_EQ(tx.execute(sql), 1) << sql; });
}

void BookingTest::until(const std::function<bool()>& ready, const std::string& what) {
  const Instant end = clock_->steady() + kPatience;
  while (!ready()) {
    if (clock_->steady() > end) FAIL() << "not in time: " << what;
    runtime::Wakeup().wait(2ms);
  }
}

void BookingTest::settle() {
  until([this] { return is_quiet(); }, "nothing is under way");
}

// Nothing was to be done anywhere, one place after the other, and nothing was added meanwhile.
bool BookingTest::is_quiet() {
  const auto added = [this] {
    std::vector<std::int64_t> out;
    for (const host::Unit* unit : units())
      out.push_back(count(*unit, "SELECT COALESCE(MAX(seq), 0) FROM skald_outbox"));
    return out;
  };
  const auto before = added();
  for (const host::Unit* unit : units())
    if (count(*unit, "SELECT COUNT(*) FROM skald_outbox WHERE live = 1 OR COALESCE(owed, 0) <> 0") != 0) return false;
  return added() == before;
}

void BookingTest::expect_invariants() {
  settle();
  const Response response = call(kAdmin, "GET", "/booking/invariants");
  ASSERT_EQ(response.status, 200) << response.body;
  const auto found = from_json<Invariants>(response.body);
  for (const Check& check : found.checks) EXPECT_TRUE(check.ok) << check.name << ": " << check.detail;
  EXPECT_GE(found.checks.size(), 10u);
}

void BookingTest::hold(const std::string& type) {
  const std::lock_guard lock(mutex_);
  ways_.at(type).held = true;
}

std::vector<Message> BookingTest::held(const std::string& type, std::size_t at_least) {
  std::vector<Message> out;
  until(
      [&] {
        const std::lock_guard lock(mutex_);
        out = ways_.at(type).messages;
        return out.size() >= at_least;
      },
      "events of type " + type);
  return out;
}

void BookingTest::let_go(const std::string& type) {
  std::vector<Message> messages;
  {
    const std::lock_guard lock(mutex_);
    ways_.at(type).held = false;
    messages.swap(ways_.at(type).messages);
  }
  land(type, std::move(messages));
}

void BookingTest::land(const std::string& type, std::vector<Message> messages) {
  ways_.at(type).to->engine->land(messages);
}

std::string code_of(const Response& response) {
  return std::string(json::parse(response.body).as_object().at("code").as_string());
}

}  // namespace skald::test
