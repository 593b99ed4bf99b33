// The donation service's paths.
#include <map>
#include <thread>

#include "donation_site.h"
#include "http/jwt.h"

namespace skald::test {
namespace {

using donation::Status;

class Paths : public DonationTest {
 protected:
  void SetUp() override {
    DonationTest::SetUp();
    start();
  }
  Response post(const std::string& body) { return site->call("POST", "/donation/donations", body); }
  static std::string code_of(const Response& response) {
    return std::string(json::parse(response.body).at("code").as_string());
  }
  std::vector<std::string> ids_of(const Response& response) {
    std::vector<std::string> out;
    for (const auto& item : from_json<Listing<donation::DonationView>>(response.body).items)
      out.push_back(item.request_id);
    return out;
  }
};
SKALD_ON_BOTH_DATABASES(Paths);

TEST_P(Paths, ADonationIsTakenWithItsEntry) {
  const Response response = post(R"({"requestId":"r-1","donor":"kim","amount":1250,"currency":"EUR"})");
  ASSERT_EQ(response.status, 201) << response.body;
  const auto view = from_json<donation::DonationView>(response.body);
  EXPECT_EQ(view.amount, 1250);
  EXPECT_FALSE(view.message);
  EXPECT_EQ(view.status, Status::ACCEPTED);
  EXPECT_EQ(view.outbox.status, EntryStatus::PENDING);
  EXPECT_EQ(response.body, site->call("GET", "/donation/donations/r-1").body);
  EXPECT_EQ(entry("r-1")->event.key, "kim");
}

TEST_P(Paths, ARepeatedRequestIsAnsweredWithTheFirstResult) {
  const Response first = post(gift_json("r-1"));
  const Response again = post(gift_json("r-1"));
  EXPECT_EQ(first.status, 201);
  EXPECT_EQ(again.status, 200);
  EXPECT_EQ(first.body, again.body);
  EXPECT_EQ(count("skald_outbox"), 1);
  site->run();
  EXPECT_EQ(donate("r-1").status, Status::ANNOUNCED);
  EXPECT_EQ(bus.sent.size(), 1u);
}

TEST_P(Paths, AUsedRequestIdWithOtherFieldsIsRefused) {
  post(gift_json("r-1"));
  for (const std::string& body :
       {gift_json("r-1", "lee"), gift_json("r-1", "kim", "other"),
        std::string(R"({"requestId":"r-1","donor":"kim","amount":501,"currency":"EUR","message":"thank you"})"),
        std::string(R"({"requestId":"r-1","donor":"kim","amount":500,"currency":"USD","message":"thank you"})"),
        std::string(R"({"requestId":"r-1","donor":"kim","amount":500,"currency":"EUR"})")}) {
    const Response response = post(body);
    EXPECT_EQ(response.status, 422) << body;
    EXPECT_EQ(code_of(response), "REQUEST_ID_REUSED");
  }
  EXPECT_EQ(count("donation"), 1);
}

TEST_P(Paths, RequestsWithOneIdAtOnceMakeOneDonation) {
  std::atomic<int> created = 0, repeated = 0;
  std::vector<std::thread> clients;
  for (int i = 0; i < 8; ++i) {
    clients.emplace_back([&] {
      const int status = post(gift_json("r-1")).status;
      ++(status == 201 ? created : repeated);
      EXPECT_TRUE(status == 201 || status == 200) << status;
    });
  }
  for (std::thread& client : clients) client.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(repeated, 7);
  EXPECT_EQ(count("donation"), 1);
  EXPECT_EQ(count("skald_outbox"), 1);
}

TEST_P(Paths, BadInputIsRefusedWithAClearCode) {
  const auto refused = [&](const std::string& body, int status, const std::string& code) {
    const Response response = post(body);
    EXPECT_EQ(response.status, status) << body;
    EXPECT_EQ(code_of(response), code) << body;
  };
  refused("{", 400, "MALFORMED_JSON");
  refused("\xff", 400, "MALFORMED_UTF8");
  refused("[]", 422, "INVALID_VALUE");
  refused(R"({"requestId":"r","donor":"kim","amount":"500","currency":"EUR"})", 422, "INVALID_VALUE");
  refused(R"({"requestId":"r","donor":"kim","amount":1.5,"currency":"EUR"})", 422, "INVALID_VALUE");
  refused(R"({"requestId":"r","donor":"kim","amount":500})", 422, "INVALID_VALUE");
  refused(R"({"requestId":"r","donor":"kim","amount":500,"currency":"EUR","admin":true})", 422, "INVALID_VALUE");
  refused(R"({"requestId":"","donor":"kim","amount":500,"currency":"EUR"})", 422, "BAD_REQUEST_ID");
  refused(R"({"requestId":"r","donor":"k\u0007m","amount":500,"currency":"EUR"})", 422, "BAD_DONOR");
  refused(R"({"requestId":"r","donor":"kim","amount":0,"currency":"EUR"})", 422, "BAD_AMOUNT");
  refused(R"({"requestId":"r","donor":"kim","amount":500,"currency":"euro"})", 422, "BAD_CURRENCY");
  refused(R"({"requestId":"r","donor":"kim","amount":500,"currency":"EUR","message":"\u0007"})", 422, "BAD_MESSAGE");
  refused(R"({"requestId":"r","donor":"k\u0000m","amount":500,"currency":"EUR"})", 422, "INVALID_VALUE");
  EXPECT_EQ(count("donation"), 0);
  for (const char* path : {"?status=LOST", "?donor=%20", "?cursor=bm8", "?limit=0", "?cursor=WyJ4IiwieSJd"})
    EXPECT_EQ(site->call("GET", std::string("/donation/donations") + path).status, 422) << path;
  EXPECT_EQ(site->call("GET", "/donation/donations/nobody").status, 404);
  EXPECT_EQ(site->call("GET", "/donation/donations/%20%27").status, 404);
}

TEST_P(Paths, SqlInEveryFieldIsJustText) {
  const std::string sql_text = "'); DROP TABLE donation; --";
  const std::string id = "';DROP/**/TABLE/**/donation;--";
  EXPECT_EQ(post(gift_json(id, sql_text, sql_text)).status, 201);
  EXPECT_EQ(ids_of(site->call("GET", "/donation/donations?donor=%27%29%3B%20DROP%20TABLE%20donation%3B%20--")),
            std::vector<std::string>{id});
  site->run();
  ASSERT_EQ(bus.sent.size(), 1u);
  const auto gift = from_json<donation::Gift>(bus.sent[0].event.payload);
  EXPECT_EQ(gift.donor, sql_text);
  EXPECT_EQ(gift.message, sql_text);
  EXPECT_TRUE(invariants_hold());
}

TEST_P(Paths, TheListFiltersAndPagesNewestFirst) {
  std::map<std::pair<Time, std::string>, std::string, std::greater<>> given;  // by time, then by id
  for (int i = 0; i < 7; ++i) {
    clock.advance(i < 2 ? 0ms : 1ms);  // two share their time
    const auto taken = donate("r-" + std::to_string(i), i < 5 ? "kim" : "lee");
    given[{taken.created_at, taken.id}] = taken.request_id;
  }
  bus.answer = [](const Message& message) {
    return message.event.key == "lee" ? Outcome::refused("no") : Outcome::failed("later");
  };
  site->run();
  std::vector<std::string> all;
  std::string path = "/donation/donations?limit=3";
  for (int page = 0; page < 3; ++page) {
    const Response response = site->call("GET", path);
    const auto listing = from_json<Listing<donation::DonationView>>(response.body);
    for (const auto& item : listing.items) all.push_back(item.request_id);
    EXPECT_EQ(listing.next_cursor.has_value(), page < 2);
    if (listing.next_cursor) path = "/donation/donations?limit=3&cursor=" + *listing.next_cursor;
  }
  std::vector<std::string> expected;
  for (const auto& [place, id] : given) expected.push_back(id);
  EXPECT_EQ(all, expected);
  EXPECT_EQ(all.front(), "r-6");
  EXPECT_EQ(ids_of(site->call("GET", "/donation/donations?donor=lee")), (std::vector<std::string>{"r-6", "r-5"}));
  EXPECT_EQ(ids_of(site->call("GET", "/donation/donations?status=UNDELIVERED")),
            (std::vector<std::string>{"r-6", "r-5"}));
  EXPECT_EQ(ids_of(site->call("GET", "/donation/donations?status=UNDELIVERED&donor=kim")), std::vector<std::string>{});
  EXPECT_EQ(ids_of(site->call("GET", "/donation/donations?status=ACCEPTED&limit=1")), std::vector<std::string>{"r-4"});
  const auto waiting = show("r-0");
  EXPECT_EQ(waiting.outbox.status, EntryStatus::FAILED);
  EXPECT_EQ(waiting.outbox.retry_count, 1);
  EXPECT_EQ(waiting.outbox.last_error, "later");
  EXPECT_TRUE(waiting.outbox.next_retry_at);
}

TEST_P(Paths, CustomersMayGiveAndAskForTheirOwnAndAdminsForAll) {
  http::Routes guarded(env(), http::Authenticator(env(), "a secret"), "test");
  const auto other = TestDatabase::of(GetParam(), env());
  Engine engine(env(), **other, {});
  donation::install(engine, guarded, env(), {.webhook = &bus});
  const auto status = [&](Role role, std::string method, std::string path, std::string body) {
    Request request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.body = std::move(body);
    request.headers["authorization"] =
        "Bearer " + http::sign_token("a secret", {"kim", role, clock.now(), clock.now() + 1h});
    return guarded.dispatch(std::move(request)).status;
  };
  EXPECT_EQ(status(Role::customer, "POST", "/donation/donations", gift_json("r-1")), 201);
  EXPECT_EQ(status(Role::customer, "GET", "/donation/donations/r-1", ""), 200);
  EXPECT_EQ(status(Role::customer, "GET", "/donation/donations", ""), 200);
  EXPECT_EQ(status(Role::customer, "GET", "/donation/invariants", ""), 403);
  EXPECT_EQ(status(Role::customer, "POST", "/donation/reconcile", R"({"repair":true})"), 403);
  EXPECT_EQ(status(Role::admin, "GET", "/donation/donations", ""), 200);
  EXPECT_EQ(status(Role::admin, "GET", "/donation/invariants", ""), 200);
  EXPECT_EQ(status(Role::admin, "POST", "/donation/reconcile", R"({"repair":true})"), 200);
}

TEST_P(Paths, AnIdempotencyKeyGivesTheFirstAnswerAgain) {
  const std::map<std::string, std::string, std::less<>> key = {{"idempotency-key", "k-1"}};
  const Response first = site->call("POST", "/donation/donations", gift_json("r-1"), key);
  const Response again = site->call("POST", "/donation/donations", gift_json("r-1"), key);
  EXPECT_EQ(again.status, 201);
  EXPECT_EQ(first.body, again.body);
  EXPECT_EQ(site->call("POST", "/donation/donations", gift_json("r-2"), key).status, 422);
  EXPECT_EQ(count("donation"), 1);
}

}  // namespace
}  // namespace skald::test
