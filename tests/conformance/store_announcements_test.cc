// Announcements between processes, by PostgreSQL.
#include <poll.h>

#include "store/tables/worker.h"
#include "store_postgres_fixture.h"
#include "support/hand_clock.h"

namespace skald::test {
namespace {

constexpr std::size_t kAll = kPartitions + 1;  // and that workers have changed

// Waits for the descriptor and drains, until something was heard.
Listener::Heard hear_all(Listener& listener) {
  for (int i = 0; i < 100; ++i) {
    pollfd ready{listener.fd(), POLLIN, 0};
    poll(&ready, 1, 100);
    if (auto heard = listener.drain(); !heard.partitions.empty() || !heard.offers.empty()) return heard;
  }
  return {};
}
std::vector<int> hear(Listener& listener) { return hear_all(listener).partitions; }

struct NeighbourlyHook final : CommitHook {
  void before_commit(Transaction& tx, std::span<const Event> events) override {
    for (const Event& event : events) tx.enqueue("INSERT INTO item VALUES ($1, 1)", event.key);
  }
  void after_commit(std::span<const Event>) noexcept override { ++untold; }
  News news_for_others(std::span<const Event>) override { return news; }
  void after_told_commit(std::span<const Event>, std::span<const int> partitions) noexcept override {
    told.assign(partitions.begin(), partitions.end());
  }
  News news{{3, 17}};
  int untold = 0;
  std::vector<int> told;
};

TEST_F(Postgres, TellsOthersOfALoneCommitBehindItAndOfManyTogether) {
  NeighbourlyHook hook;
  db().set_commit_hook(&hook);
  const auto listener = other().listen();
  hear(*listener);  // all, after LISTEN
  const auto emit = [&](const char* key) {
    db().write("produce", [&](Transaction& tx) {
      tx.emit({.id = "", .type = "t", .key = key, .subject = "", .payload = "{}", .traceparent = ""});
    });
  };
  emit("k1");
  EXPECT_EQ(hook.told, (std::vector<int>{3, 17}));
  EXPECT_EQ(hook.untold, 0);
  EXPECT_EQ(hear(*listener), (std::vector<int>{3, 17}));
  for (int i = 0; hook.untold == 0 && i < 1000; ++i) emit(("m" + std::to_string(i)).c_str());
  EXPECT_EQ(hook.untold, 1) << "one that follows at once is left to the flush";
}

TEST_F(Postgres, TellsOfNoneAloneWhereManyCome) {
  HandClock clock;
  const auto busy = open_postgres({clock, *random_, silent_observer()}, {.url = database_->address()});
  NeighbourlyHook hook;
  busy->set_commit_hook(&hook);
  int commits = 0;
  const auto is_told_alone = [&] {
    hook.told.clear();
    busy->write("produce", [&](Transaction& tx) {
      const std::string key = "k" + std::to_string(++commits);
      tx.emit({.id = "", .type = "t", .key = key, .subject = "", .payload = "{}", .traceparent = ""});
    });
    if (hook.told.empty()) busy->announce(hook.news.partitions);
    return !hook.told.empty();
  };
  EXPECT_TRUE(is_told_alone());
  for (int i = 0; i < 4; ++i) EXPECT_FALSE(is_told_alone());
  clock.advance(2ms);
  EXPECT_FALSE(is_told_alone());
  clock.advance(16ms);
  EXPECT_TRUE(is_told_alone());
}

TEST_F(Postgres, OffersALoneEventWithTheNewsOfItUnlessItIsTooLong) {
  NeighbourlyHook hook;
  hook.news = {.partitions = {17}, .offer = "SELECT repeat('a ', amount::int) FROM item WHERE id = $1", .id = "a"};
  const auto listener = other().listen();
  hear(*listener);  // all, after LISTEN
  const auto produce = [&](Database& from, int length) {  // the first of `from`, so it is a lone one
    from.set_commit_hook(&hook);
    from.write("fill", [&](Transaction& tx) { tx.execute("UPDATE item SET amount = $1 WHERE id = 'a'", length); });
    from.write("produce", [&](Transaction& tx) {
      const std::string key = "k" + std::to_string(length);
      tx.emit({.id = "", .type = "t", .key = key, .subject = "", .payload = "{}", .traceparent = ""});
    });
    EXPECT_EQ(hook.untold, 0);
    return hear_all(*listener);
  };
  const auto told = produce(db(), 2);
  ASSERT_EQ(told.offers.size(), 1u);
  EXPECT_EQ(told.offers[0].partition, 17);
  EXPECT_EQ(told.offers[0].text, "a a ");
  EXPECT_TRUE(told.partitions.empty());
  const auto too_long = produce(other(), 4000);
  EXPECT_TRUE(too_long.offers.empty());
  EXPECT_EQ(too_long.partitions, std::vector{17});
}

TEST_F(Postgres, ACommitThatFailsTellsNobody) {
  NeighbourlyHook hook;
  db().set_commit_hook(&hook);
  EXPECT_THROW(
      db().write("produce",
                 [&](Transaction& tx) {
                   tx.emit({.id = "", .type = "t", .key = "a", .subject = "", .payload = "{}", .traceparent = ""});
                 }),
      Conflict)
      << "its row is there already";
  EXPECT_TRUE(hook.told.empty());
  EXPECT_EQ(hook.untold, 0);
  db().write("go on", [](Transaction& tx) { add(tx, "b"); });
  EXPECT_EQ(amount("b"), 1) << "the session is as good as before";
}

TEST_F(Postgres, AnnouncesPartitionsToAListenerTogether) {
  const auto listener = other().listen();
  EXPECT_EQ(hear(*listener).size(), kAll) << "after LISTEN";
  int woken = 0;
  db().set_announcement_waker([&] { ++woken; });
  db().announce(std::vector{17, 3});
  db().announce(std::vector{3, 63, -1, tables::worker::kChanged, tables::worker::kChanged + 1});
  EXPECT_EQ(woken, 2);
  EXPECT_TRUE(listener->drain().partitions.empty()) << "nothing is sent before the flush";
  EXPECT_TRUE(db().flush_announcements());
  EXPECT_FALSE(db().flush_announcements());
  EXPECT_EQ(hear(*listener), (std::vector{3, 17, 63, tables::worker::kChanged}));
}

TEST_F(Postgres, TellsNothingToThoseWhoShareTheDatabaseByAnotherSchema) {
  const Migration step[] = {
      {.version = 1, .name = "n", .sql = "CREATE TABLE item (id TEXT PRIMARY KEY, n BIGINT)", .postgres_sql = ""}};
  const auto open = [&](const std::string& schema) {
    auto opened = open_postgres(env(), {.url = database_->address(), .schema = schema, .connections = 2});
    opened->migrate("n", step);
    return opened;
  };
  const auto mine = open("mine"), also_mine = open("mine"), others = open("others");
  const auto near = also_mine->listen(), far = others->listen();
  hear(*near);  // all, after LISTEN
  hear(*far);
  NeighbourlyHook hook;
  hook.news = {.partitions = {17}, .offer = "SELECT id FROM item WHERE id = $1", .id = "k"};
  mine->set_commit_hook(&hook);
  mine->write("produce", [&](Transaction& tx) {
    tx.emit({.id = "", .type = "t", .key = "k", .subject = "", .payload = "{}", .traceparent = ""});
  });
  ASSERT_EQ(hook.told, (std::vector<int>{17})) << "it went with the commit";
  const auto offered = hear_all(*near);
  ASSERT_EQ(offered.offers.size(), 1u);
  EXPECT_EQ(offered.offers[0].text, "k");
  mine->announce(std::vector<int>{4, 5});
  mine->flush_announcements();
  EXPECT_EQ(hear(*near), (std::vector<int>{4, 5}));

  // Theirs comes behind all of that, and is all that they hear.
  others->announce(std::vector<int>{9});
  others->flush_announcements();
  const auto heard = hear_all(*far);
  EXPECT_TRUE(heard.offers.empty());
  EXPECT_EQ(heard.partitions, (std::vector<int>{9}));
}

TEST_F(Postgres, ReportsAllPartitionsWhenAListenerHasLostItsConnection) {
  const auto listener = other().listen();
  hear(*listener);
  const int fd = listener->fd();
  other().write("kill listener", [](Transaction& tx) {
    EXPECT_EQ(
        tx.query("SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'DO %LISTEN%' AND "
                 "datname = current_database()")
            .size(),
        1u);
  });
  EXPECT_EQ(hear(*listener).size(), kAll);
  EXPECT_EQ(listener->fd(), fd);
  db().announce(std::vector{5});
  db().flush_announcements();
  EXPECT_EQ(hear(*listener), std::vector{5});
}

TEST_F(Postgres, KeepsAnnouncementsThatCouldNotBeSent) {
  db().announce(std::vector{1});
  db().flush_announcements();
  other().write("kill announcer", [](Transaction& tx) {
    tx.query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'SELECT pg_notify(%' AND pid <> "
        "pg_backend_pid()");
  });
  const auto listener = other().listen();
  hear(*listener);
  db().announce(std::vector{2});
  EXPECT_TRUE(db().flush_announcements()) << "on a new connection";
  EXPECT_EQ(hear(*listener), std::vector{2});
}

}  // namespace
}  // namespace skald::test
