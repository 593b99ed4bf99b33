#include "closed_loop.h"
#include "donation.h"
#include "plain_sqlite.h"
#include "sections.h"
#include "skald/engine.h"
#include "workload.h"

namespace bench {
namespace {

constexpr int kCallers = 64;

struct Speed {
  double rate;    // donations per second
  double cpu_us;  // of this process for one donation: hardly depends on what else runs
};

// Counts from its making on.
class Meter {
 public:
  std::int64_t begun() const { return begun_; }
  Speed of(std::int64_t donations) const {
    const double n = static_cast<double>(donations);
    return {n / (static_cast<double>(now_ns() - begun_) / 1e9), (cpu_of_process(getpid()) - cpu_) / n * 1e6};
  }

 private:
  std::int64_t begun_ = now_ns();
  double cpu_ = cpu_of_process(getpid());
};

Speed by_group_commit(skald::Env env, const std::string& path, double seconds) {
  const auto db = skald::open_sqlite(env, {.path = path});
  db->migrate("bench", {&kDonationMigration, 1});
  skald::Engine engine(env, *db, {.works = false});
  const Meter meter;
  const auto donations = closed_loop(kCallers, seconds, [&](int, std::int64_t n) {
    const std::string id = donation_id(n), request = "r" + id, donor = donor_of(n), payload = payload_of(n);
    db->write("donate", [&](skald::Transaction& tx) {
      if (tx.execute(kInsertRequest, request, id) != 1) return;
      tx.execute(kInsertDonation, id, donor, 500, tx.now());
      tx.emit({.type = kDonationType, .key = donor, .subject = request, .payload = payload});
    });
  });
  return meter.of(std::ssize(donations));
}

class Hand {
 public:
  explicit Hand(const std::string& path) : db_(path) {}

  void begin() { begin_.run(); }
  void commit() { commit_.run(); }

  void donate(std::int64_t n) {
    const std::string id = donation_id(n), request = "r" + id, donor = donor_of(n), payload = payload_of(n);
    if (request_.run({request, id}) != 1) return;
    donation_.run({id, donor, 500, kSomeTime});
    event_.run({id, n % skald::kPartitions, donor, kDonationType, request, payload, "", kSomeHash, 3, kSomeTime});
  }

 private:
  static constexpr std::int64_t kSomeTime = 1'800'000'000'000'000;

  PlainSqlite db_;
  PlainSqlite::Statement begin_ = db_.prepare("BEGIN IMMEDIATE"), commit_ = db_.prepare("COMMIT"),
                         request_ = db_.prepare(kInsertRequest), donation_ = db_.prepare(kInsertDonation),
                         event_ = db_.prepare(kInsertEvent);
};

Speed by_hand(skald::Env env, const std::string& path, double seconds, int per_commit) {
  {  // the same schema, indexes included
    const auto db = skald::open_sqlite(env, {.path = path});
    db->migrate("bench", {&kDonationMigration, 1});
    skald::Engine engine(env, *db, {.works = false});
  }
  Hand hand(path);
  std::int64_t n = 0;
  const Meter meter;
  const std::int64_t end = meter.begun() + static_cast<std::int64_t>(seconds * 1e9);
  while (now_ns() < end) {
    hand.begin();
    for (int i = 0; i < per_commit; ++i) hand.donate(n++);
    hand.commit();
  }
  return meter.of(n);
}

}  // namespace

void measure_sqlite_store(const Options& options, Report& report) {
  const auto clock = skald::system_clock();
  const auto random = skald::system_random();
  const skald::Env env{*clock, *random, skald::silent_observer()};
  const ScratchFolder folder;
  std::vector<Speed> ours, singles, batches;
  for (int round = 0; round < options.rounds; ++round) {
    const auto fresh = [&](const std::string& name) {
      return folder.path() + "/" + name + std::to_string(round) + ".db";
    };
    ours.push_back(by_group_commit(env, fresh("ours"), options.seconds));
    singles.push_back(by_hand(env, fresh("single"), options.seconds, 1));
    batches.push_back(by_hand(env, fresh("batch"), options.seconds, kCallers));
  }
  const auto middle = [](const std::vector<Speed>& speeds, double Speed::* field) {
    std::vector<double> values;
    for (const Speed& speed : speeds) values.push_back(speed.*field);
    return median(values);
  };
  const double rate = middle(ours, &Speed::rate);
  const double single = middle(singles, &Speed::rate), batch = middle(batches, &Speed::rate);
  report.setting(
      "SQLite",
      "synchronous=FULL, WAL; a donation is a dedupe row, a donation row and an event of 204 bytes; 64 threads call "
      "Database::write, each with one donation; by hand: one thread, prepared statements, the same rows");
  const auto row = [&](const std::string& name, const std::vector<Speed>& speeds) {
    const double value = middle(speeds, &Speed::rate);
    return std::vector<std::string>{name, number(value), number(rate / value, 2) + "x",
                                    number(middle(speeds, &Speed::cpu_us), 1)};
  };
  report.table("SQLite: donations per second", {"who", "donations/s", "skald is", "CPU us/donation"},
               {row("skald, 64 callers", ours), row("by hand, one commit each", singles),
                row("by hand, 64 in each commit", batches)});
  report.chart("SQLite, synchronous=FULL", "donations per second",
               {{"skald, 64 callers", rate}, {"by hand, one commit each", single}, {"by hand, 64 per commit", batch}});
  report.check("SQLite, 64 callers against one hand-written commit each", {Target::Kind::at_least, 3}, rate / single);
  report.check("SQLite, 64 callers against 64 in each hand-written commit", {Target::Kind::at_least, 0.6},
               rate / batch);
}

}  // namespace bench
