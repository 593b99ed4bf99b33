// The booking system as it was first designed: a table of outgoing events that is looked at once
// a second, ten at a time. Written by hand after that design's own listings, and spared all that
// would slow it down here: no HTTP, no gateway, no NATS, no notifications, and course's work is
// a call. What is left is what its relay alone allows.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <mutex>
#include <thread>
#include <unordered_map>

#include "child.h"
#include "measure.h"
#include "roles.h"
#include "sections.h"

namespace bench {
namespace {

constexpr double kPollSeconds = 1;
constexpr int kBatch = 10, kCustomers = 8;
constexpr std::int64_t kSlots = 500;

constexpr const char* kSchema = R"sql(
  CREATE TABLE polling_booking (id BIGINT PRIMARY KEY, slot_id BIGINT NOT NULL, players INT NOT NULL,
    status TEXT NOT NULL);
  CREATE TABLE polling_history (booking_id BIGINT NOT NULL, action TEXT NOT NULL, at TIMESTAMPTZ DEFAULT now());
  CREATE TABLE polling_key (key TEXT PRIMARY KEY, booking_id BIGINT NOT NULL, expires_at TIMESTAMPTZ NOT NULL);
  CREATE TABLE polling_outbox (id BIGINT PRIMARY KEY, status TEXT NOT NULL, created_at TIMESTAMPTZ DEFAULT now());
  CREATE INDEX polling_outbox_pending ON polling_outbox (created_at) WHERE status = 'PENDING';
  CREATE TABLE polling_slot (id BIGINT PRIMARY KEY, booked BIGINT NOT NULL, version BIGINT NOT NULL);
  CREATE TABLE polling_reservation (booking_id BIGINT NOT NULL, slot_id BIGINT NOT NULL,
    PRIMARY KEY (booking_id, slot_id)))sql";

using Named = PreparedSql::Named;
constexpr Named kBook[] = {
    {"begin", "BEGIN"},
    {"booking", "INSERT INTO polling_booking VALUES ($1, $2, 2, 'PENDING')"},
    {"outbox", "INSERT INTO polling_outbox VALUES ($1, 'PENDING')"},
    {"key", "INSERT INTO polling_key VALUES ($1::text, $1::bigint, now() + interval '24 hours')"},
    {"history", "INSERT INTO polling_history VALUES ($1, 'CREATED')"},
    {"commit", "COMMIT"}};
constexpr Named kSettle[] = {
    {"begin", "BEGIN"},
    {"known", "SELECT 1 FROM polling_reservation WHERE booking_id = $1 AND slot_id = $2"},
    {"reserve",
     "UPDATE polling_slot SET booked = booked + 2, version = version + 1 WHERE id = $1 AND version = "
     "(SELECT version FROM polling_slot WHERE id = $1)"},
    {"reservation", "INSERT INTO polling_reservation VALUES ($1, $2)"},
    {"confirm", "UPDATE polling_booking SET status = 'CONFIRMED' WHERE id = $1 AND status = 'PENDING'"},
    {"history", "INSERT INTO polling_history VALUES ($1, 'CONFIRMED')"},
    {"sent", "UPDATE polling_outbox SET status = 'SENT' WHERE id = $1"},
    {"commit", "COMMIT"}};

std::string slot_of(std::int64_t booking) { return std::to_string(booking % kSlots); }

// Each when it is due, however long the ones before it take.
void book(const Role& role, std::int64_t begun, std::int64_t first) {
  PreparedSql sql(role.url, kBook, false);
  for (std::int64_t i = first; static_cast<double>(i) < role.rate * role.seconds; i += kCustomers) {
    sleep_until_ns(begun + static_cast<std::int64_t>(static_cast<double>(i) * 1e9 / role.rate));
    const std::string id = std::to_string(i), slot = slot_of(i);
    sql.add("begin", {});
    sql.add("booking", {id.c_str(), slot.c_str()});
    sql.add("outbox", {id.c_str()});
    sql.add("key", {id.c_str()});
    sql.add("history", {id.c_str()});
    sql.add("commit", {});
    sql.flush();
  }
}

std::vector<std::int64_t> claim(Sql& sql) {
  const std::string text =
      "UPDATE polling_outbox SET status = 'PROCESSING' WHERE id IN (SELECT id FROM polling_outbox WHERE status = "
      "'PENDING' ORDER BY created_at LIMIT " +
      std::to_string(kBatch) + " FOR UPDATE SKIP LOCKED) RETURNING id";
  const std::unique_ptr<PGresult, void (*)(PGresult*)> result(PQexec(sql.raw(), text.c_str()), PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK) throw std::runtime_error(PQerrorMessage(sql.raw()));
  std::vector<std::int64_t> out;
  for (int row = 0; row < PQntuples(result.get()); ++row) out.push_back(std::stoll(PQgetvalue(result.get(), row, 0)));
  return out;
}

// What course does, then what booking does with its answer.
void settle(PreparedSql& sql, std::int64_t booking) {
  const std::string id = std::to_string(booking), slot = slot_of(booking);
  sql.add("begin", {});
  sql.add("known", {id.c_str(), slot.c_str()});
  sql.add("reserve", {slot.c_str()});
  sql.add("reservation", {id.c_str(), slot.c_str()});
  sql.add("commit", {});
  sql.add("begin", {});
  sql.add("confirm", {id.c_str()});
  sql.add("history", {id.c_str()});
  sql.add("sent", {id.c_str()});
  sql.add("commit", {});
  sql.flush();
}

// The waits of all bookings of a run in milliseconds, sorted; those that were never confirmed
// count as if they had been at its end.
struct Waits {
  std::vector<double> ms;
  std::int64_t confirmed = 0;
};
Waits run_once(Server& server, double rate, double seconds) {
  const std::string url = server.create("bench_polling");
  Sql(url).run(kSchema);
  Sql(url).run("INSERT INTO polling_slot SELECT g, 0, 1 FROM generate_series(0, " + std::to_string(kSlots - 1) + ") g");
  std::string times = (std::filesystem::temp_directory_path() / "skald-bench.XXXXXX").string();
  if (const int file = mkstemp(times.data()); file >= 0) close(file);
  {
    Child child(
        {"/proc/self/exe", "role", "polling", "-", url, times, std::to_string(rate), std::to_string(seconds), "0"});
    child.expect("ready");
    child.tell("go");
    child.expect("done", seconds + 30);
  }
  Waits out;
  const std::vector<Stamp> stamps = read_stamps(times);
  std::filesystem::remove(times);
  server.drop("bench_polling");
  for (const Stamp& stamp : stamps) {
    const double due = static_cast<double>(stamp.event) * 1e3 / rate;
    const bool confirmed = stamp.at_ns != 0;
    out.confirmed += confirmed ? 1 : 0;
    out.ms.push_back((confirmed ? static_cast<double>(stamp.at_ns) / 1e6 : seconds * 1e3) - due);
  }
  std::ranges::sort(out.ms);
  return out;
}

}  // namespace

// Writes for each booking by its number when it was confirmed, from the beginning of the run on.
void run_polling(const Role& role) {
  const auto count = static_cast<std::int64_t>(std::ceil(role.rate * role.seconds));
  std::vector<Stamp> stamps;
  for (std::int64_t i = 0; i < count; ++i) stamps.push_back({i, 0});
  Sql claims(role.url);
  PreparedSql sql(role.url, kSettle, false);
  say("ready");
  hear("go");
  const std::int64_t begun = now_ns(), end = begun + static_cast<std::int64_t>(role.seconds * 1e9);
  {
    std::vector<std::jthread> customers;
    for (std::int64_t k = 0; k < kCustomers; ++k) customers.emplace_back([&, k] { book(role, begun, k); });
    for (std::int64_t next = begun; next < end; next += static_cast<std::int64_t>(kPollSeconds * 1e9)) {
      sleep_until_ns(next);
      for (const std::int64_t booking : claim(claims)) {
        settle(sql, booking);
        stamps[static_cast<std::size_t>(booking)].at_ns = now_ns() - begun;
      }
    }
  }
  write_stamps(role.times, stamps);
}

void measure_polling_bookings(Server& server, const Options& options, Report& report) {
  report.setting("the first design",
                 "looks for events each second and takes ten; by hand on PostgreSQL, without HTTP, "
                 "gateway, NATS and notifications; what is not confirmed counts as if it were at "
                 "the end of the run");
  std::vector<std::vector<std::string>> rows;
  std::vector<Report::Bar> bars;
  for (const double rate : {5.0, 50.0}) {
    const Waits waits = run_once(server, rate, options.seconds);
    auto sorted = waits.ms;
    const double p50 = percentile(sorted, 0.5);
    rows.push_back({number(rate), number(static_cast<double>(waits.confirmed) / options.seconds, 1), number(p50, 1),
                    number(percentile(sorted, 0.99), 1), std::to_string(std::ssize(waits.ms) - waits.confirmed)});
    bars.push_back({"first design, " + number(rate) + "/s", p50});
    progress("polling at " + number(rate) + "/s: p50 " + number(p50) + " ms");
  }
  report.table("The first design: booking to confirmed, milliseconds",
               {"bookings/s", "confirmed/s", "p50", "p99", "not confirmed at the end"}, rows);
  report.chart("Booking to confirmed in the first design, p50", "ms", bars);
}

}  // namespace bench
