// Whole engines, with their threads, side by side on one database.
#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>

#include "donation_site.h"
#include "runtime/wakeup.h"

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

// A receiver that takes all.
class TakingBus final : public Bus {
 public:
  explicit TakingBus(std::function<void(const Message&)> take) : take_(std::move(take)) {}
  void send(Message message, Done done) override { waiting_.emplace_back(std::move(message), std::move(done)); }
  void poll(Duration, std::span<const int>) override {
    for (auto& [message, done] : std::exchange(waiting_, {})) {
      take_(message);
      done(Outcome::ok());
    }
  }
  std::size_t in_flight() const override { return waiting_.size(); }

 private:
  std::function<void(const Message&)> take_;
  std::vector<std::pair<Message, Done>> waiting_;
};

// One process's worth, on a database handle of its own.
struct Member {
  Member(Env env, std::unique_ptr<Database> opened, Arrivals& arrivals)
      : db(std::move(opened)),
        bus([this, &arrivals](const Message& message) {
          ++sent;
          arrivals.record(message);
        }),
        engine(env, *db, {}),
        routes(env, http::Authenticator(env, std::nullopt), "test") {
    donation::install(engine, routes, env, {.webhook = &bus});
    engine.start();
  }

  std::atomic<int> sent = 0;
  std::unique_ptr<Database> db;
  TakingBus bus;
  Engine engine;
  http::Routes routes;
};

void expect_in_use(const std::function<std::unique_ptr<Database>()>& open) {
  try {
    open();
    ADD_FAILURE() << "a second owner of one file";
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.code(), "DATABASE_IN_USE");
  }
}

// Until each of them owns a good part of the partitions: some of the donors are then its own.
void wait_for_a_share(Member& member, std::size_t members) {
  constexpr std::int64_t kShare = 8;
  for (int i = 0; i < 12'000; ++i) {
    const auto workers = member.engine.workers();
    const bool shared = std::ranges::all_of(workers, [](const WorkerView& one) { return one.running >= kShare; });
    if (workers.size() == members && shared) return;
    runtime::Wakeup().wait(5ms);
  }
  ADD_FAILURE() << "the partitions were not shared within a minute";
}

class RelayProof : public ::testing::TestWithParam<Dialect> {};
SKALD_ON_BOTH_DATABASES(RelayProof);

TEST_P(RelayProof, SkipLocked_NRelaysNoDouble) {
  constexpr int kRelays = 4, kDonations = 400, kDonors = 100;
  const auto clock = system_clock();
  const auto random = system_random();
  const Env env{*clock, *random, silent_observer()};
  const TemporaryFolder folder;
  std::unique_ptr<ScratchPostgres> server;
  if (GetParam() == Dialect::postgres) server = std::make_unique<ScratchPostgres>();
  const auto open = [&] {
    return server ? open_postgres(env, {.url = server->url(), .connections = 6})
                  : open_sqlite(env, {.path = (folder.path() / "skald.db").string()});
  };
  Arrivals arrivals;
  std::vector<std::unique_ptr<Member>> members;
  for (int i = 0; i < kRelays; ++i) {
    // On SQLite there is never a second relay: its file has one owner, and the others are turned away.
    if (i > 0 && !server) expect_in_use(open);
    else members.push_back(std::make_unique<Member>(env, open(), arrivals));
  }
  for (const auto& member : members) wait_for_a_share(*member, members.size());
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
  for (auto& member : members)
    EXPECT_GT(member->sent.load(), 0) << "a relay had nothing to do, so that nothing was shown";

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
