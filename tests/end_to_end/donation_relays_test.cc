// Whole engines, with their threads, side by side on one database.
#include <condition_variable>

#include "bus/in_process/in_process_bus.h"
#include "donation_site.h"

namespace skald::test {
namespace {

// What all receivers together have seen.
class Arrivals {
 public:
  void record(const Message& message) {
    const std::lock_guard lock(mutex_);
    ++times_[message.event.id];
    by_donor_[message.event.key].push_back(std::stoi(request_id_of(message).substr(2)));
    changed_.notify_all();
  }
  bool wait_for(std::size_t events) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, 120s, [&] { return times_.size() >= events; });
  }
  std::map<std::string, int> times() const { return times_; }
  std::map<std::string, std::vector<int>> by_donor() const { return by_donor_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, int> times_;
  std::map<std::string, std::vector<int>> by_donor_;
};

// One process's worth, on a database handle of its own.
struct Member {
  Member(Env env, std::unique_ptr<Database> opened, Arrivals& arrivals)
      : db(std::move(opened)), engine(env, *db, {}), routes(env, http::Authenticator(env, std::nullopt), "test") {
    bus.subscribe("donation.*", [&arrivals](std::span<const Message> messages) {
      for (const Message& message : messages) arrivals.record(message);
      return Outcome::ok();
    });
    donation::install(engine, routes, env, {.webhook = &bus});
    engine.start();
  }

  std::unique_ptr<Database> db;
  InProcessBus bus;
  Engine engine;
  http::Routes routes;
};

class RelayProof : public ::testing::TestWithParam<Dialect> {};
SKALD_ON_BOTH_DATABASES(RelayProof);

TEST_P(RelayProof, SkipLocked_NRelaysNoDouble) {
  constexpr int kDonations = 400, kDonors = 25;
  const auto clock = system_clock();
  const auto random = system_random();
  const Env env{*clock, *random, silent_observer()};
  const TemporaryFolder folder;
  std::unique_ptr<ScratchPostgres> server;
  if (GetParam() == Dialect::postgres) server = std::make_unique<ScratchPostgres>();
  Arrivals arrivals;
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < (server ? 4 : 1); ++i) {
    auto db = server ? open_postgres(env, {.url = server->url(), .connections = 6})
                     : open_sqlite(env, {.path = (folder.path() / "skald.db").string()});
    members.push_back(std::make_unique<Member>(env, std::move(db), arrivals));
  }
  for (int i = 0; i < kDonations; ++i) {
    Request request;
    request.method = "POST";
    request.path = "/donation/donations";
    request.body = gift_json("r-" + std::to_string(i), "donor-" + std::to_string(i % kDonors));
    const Response response =
        members[static_cast<std::size_t>(i) % members.size()]->routes.dispatch(std::move(request));
    ASSERT_EQ(response.status, 201) << response.body;
  }
  EXPECT_TRUE(arrivals.wait_for(kDonations));
  for (auto& member : members) member->engine.stop();

  EXPECT_EQ(arrivals.times().size(), static_cast<std::size_t>(kDonations)) << "none is lost";
  for (const auto& [id, times] : arrivals.times()) EXPECT_EQ(times, 1) << id;
  for (const auto& [donor, order] : arrivals.by_donor()) EXPECT_TRUE(std::ranges::is_sorted(order)) << donor;
  members[0]->db->read([&](Transaction& tx) {
    EXPECT_EQ(tx.query("SELECT COUNT(*) FROM donation WHERE status = 'ANNOUNCED'").get<int>(0, 0), kDonations);
    EXPECT_EQ(tx.query("SELECT COUNT(*) FROM skald_outbox WHERE status = 3 AND attempts = 1").get<int>(0, 0),
              kDonations);
  });
}

}  // namespace
}  // namespace skald::test
