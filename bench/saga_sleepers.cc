// A million sleeping sagas: rows that the engine itself would have written, copied
// from one that it has.
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <limits>
#include <stdexcept>

#include "plain_sqlite.h"
#include "saga_order.h"
#include "saga_run.h"
#include "sections.h"
#include "skald/engine.h"

namespace bench {
namespace {

constexpr std::int64_t kSleepers = 1'000'000;
constexpr std::int64_t kDay = 86'400'000'000;  // in microseconds
constexpr const char* kSkald = "skald:sleepers:8";

// What the dialects do not share: the microseconds `at` as Skald's JSON has them, a
// padded number, and the numbers from 1 on.
struct Words {
  std::string time, id, numbers;
};
Words words(skald::Dialect dialect, const std::string& at, std::int64_t count) {
  const std::string to = std::to_string(count);
  if (dialect == skald::Dialect::postgres)
    return {"to_char(timestamp 'epoch' + " + at + " * interval '1 microsecond', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')",
            "'sleeper' || lpad(g::text, 19, '0')", "(SELECT generate_series(1::bigint, " + to + ") AS g)"};
  return {"strftime('%Y-%m-%dT%H:%M:%S', " + at + " / 1000000, 'unixepoch') || printf('.%06dZ', " + at + " % 1000000)",
          "'sleeper' || printf('%019d', g)",
          "(WITH RECURSIVE n(g) AS (SELECT 1 UNION ALL SELECT g + 1 FROM n WHERE g < " + to + ") SELECT g FROM n)"};
}

// Copies of the one sleeper that is there, which wakes at `wakes`; each of them a
// second later than the one before.
std::string copies(skald::Dialect dialect, std::int64_t count, const std::string& id, skald::Time wakes) {
  const std::string from = std::to_string(skald::to_micros(wakes)), at = "(" + from + " + g * 1000000)";
  const Words w = words(dialect, at, count);
  return "INSERT INTO skald_saga (id, type, revision, key, parent, root, status, live, owner, fence, take_overs, "
         "wake_at, deadline_at, started_at, finished_at, progress, state, log, error_code, error_message) SELECT " +
         w.id + ", type, revision, key, parent, " + w.id + ", status, live, owner, fence, take_overs, " + at +
         ", deadline_at, started_at, finished_at, replace(progress, '" + skald::format_time(wakes) + "', " + w.time +
         "), replace(state, '" + from + "', '' || " + at + "), log, error_code, error_message FROM skald_saga, " +
         w.numbers + " numbers WHERE id = '" + id + "'";
}

// One database with its sleepers or without.
struct Bedroom {
  std::string url, folder;
  skald::Dialect dialect;
  std::optional<pid_t> postmaster;
  std::function<void(const std::string&)> sql;
  std::vector<double> rates = {}, memory = {}, late_ms = {};

  // A saga that the engine has put to sleep is the pattern of all others.
  void fill(std::int64_t count) {
    const auto clock = skald::system_clock();
    const auto random = skald::system_random();
    const skald::Env env{*clock, *random, skald::silent_observer()};
    std::string pattern;
    skald::Time wakes;
    {
      const auto db = dialect == skald::Dialect::postgres ? skald::open_postgres(env, {.url = url})
                                                          : skald::open_sqlite(env, {.path = url});
      skald::Engine engine(env, *db, {.works = false});
      if (count == 0) return;
      const auto saga = sleeper_saga([](const Sleeper&) {});
      engine.sagas().add(saga);
      engine.start();
      pattern = engine.sagas().start(saga, Sleeper{.sleep = kDay, .due = 0}).id;
      wakes =
          db->read_result([&](skald::Transaction& tx) { return engine.sagas().find(tx, pattern)->wakes_at.value(); });
    }
    sql(copies(dialect, count, pattern, wakes));
    if (dialect == skald::Dialect::postgres) sql("VACUUM ANALYZE skald_saga");
  }

  void run(int in_flight, double seconds) {
    const std::string times = folder + "/times";
    SagaProcess process({"skald", kSkald, ""}, url, times, in_flight, seconds);
    rates.push_back(process.run(postmaster).rate);
    memory.push_back(process.memory());
    const auto woken = read_stamps(times + ".woken");
    for (const Stamp& stamp : woken) late_ms.push_back(static_cast<double>(stamp.at_ns - stamp.event) / 1e6);
    if (std::ssize(woken) < kSleepersWoken) late_ms.push_back(std::numeric_limits<double>::infinity());
  }
};

void compare(const std::string& database, Bedroom& none, Bedroom& full, std::int64_t count, const Options& options,
             Report& report) {
  none.fill(0);
  progress("sleepers, filling " + database);
  full.fill(count);
  ::sync();
  const double seconds = std::max(options.seconds, 5.0);
  full.run(0, seconds);
  const double idle_memory = full.memory.back(), idle_late = median(full.late_ms),
               idle_late_max = *std::ranges::max_element(full.late_ms);
  full.rates.clear();
  full.late_ms.clear();
  for (int round = 0; round < options.rounds; ++round) {
    none.run(kInFlight, seconds);
    full.run(kInFlight, seconds);
    progress("sleepers on " + database + ": " + number(none.rates.back()) + "/s without, " + number(full.rates.back()) +
             "/s beside them");
  }
  const double memory = *std::ranges::max_element(full.memory);
  const double busy_late = median(full.late_ms), busy_late_max = *std::ranges::max_element(full.late_ms);
  const double ratio = median(none.rates) / median(full.rates);
  const std::string many = std::to_string(count) + " sleeping sagas";
  report.table(many + " on " + database,
               {"engine", "memory MB", "woken late, ms p50", "at most", "order sagas/s", "without sleepers"},
               {{"idle", number(idle_memory), number(idle_late, 1), number(idle_late_max, 1), "-", "-"},
                {"64 order sagas in flight", number(memory), number(busy_late, 1), number(busy_late_max, 1),
                 number(median(full.rates)), number(median(none.rates))}});
  const auto at_most = [](double value) { return Target{Target::Kind::at_most, value}; };
  report.check(many + " on " + database + ": memory of the engine", at_most(300), std::max(idle_memory, memory), "MB");
  report.check(many + " on " + database + ": how late one is woken, at most", at_most(100), idle_late_max, "ms");
  report.check(many + " on " + database + ": beside 64 order sagas in flight, p50", at_most(100), busy_late, "ms");
  report.check(many + " on " + database + ": others without them, against beside them", at_most(1.2), ratio);
}

}  // namespace

void measure_sleepers(Server& server, const Options& options, Report& report) {
  const std::int64_t count = options.rows.value_or(kSleepers);
  std::string folder = (std::filesystem::temp_directory_path() / "skald-bench.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  {
    const auto bedroom = [&](const std::string& name) {
      const std::string url = server.create(name);
      const auto sql = [url](const std::string& text) {
        Sql connection(url);
        connection.run("SET synchronous_commit = off");
        connection.run(text);
      };
      return Bedroom{url, folder, skald::Dialect::postgres, server.postmaster(), sql};
    };
    Bedroom none = bedroom("bench_none"), full = bedroom("bench_full");
    compare("PostgreSQL", none, full, count, options, report);
  }
  server.drop("bench_none");
  server.drop("bench_full");
  const auto bedroom = [&](const std::string& name) {
    const std::string path = folder + "/" + name;
    return Bedroom{
        path, folder, skald::Dialect::sqlite, {}, [path](const std::string& text) { PlainSqlite(path).run(text); }};
  };
  Bedroom none = bedroom("none.db"), full = bedroom("full.db");
  compare("SQLite", none, full, count, options, report);
  std::filesystem::remove_all(folder);
}

}  // namespace bench
