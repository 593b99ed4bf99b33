#include "booking_traffic.h"

#include <unistd.h>

#include <chrono>
#include <fstream>
#include <future>
#include <memory>
#include <optional>
#include <stdexcept>

#include "child.h"
#include "measure.h"
#include "report.h"
#include "server.h"
#include "skald/json.h"

namespace bench {
namespace {

constexpr const char* kGenerator = "generator";
constexpr const char* kWatch = "this benchmark's looking";

// Bytes that a process has read and written, by files and sockets.
std::pair<double, double> bytes_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/io");
  std::string name;
  double in = 0, out = 0;
  file >> name >> in >> name >> out;
  return {in, out};
}

struct Sample {
  skald::Time at{};
  std::map<std::string, double> cpu;  // seconds so far
  double machine_cpu = 0;
  double backlog = 0;
  BookingCost total;  // so far
};

// Looks at a site; the questions go along the partial indexes of what is live.
class Watch {
 public:
  explicit Watch(const BookingSite& site) : site_(site) {
    if (!site.is_distributed()) return;
    for (const std::string service : {"booking", "course", "notify"}) {
      databases_.push_back(std::make_unique<Sql>(site.database(service)));
      databases_.back()->run("SET search_path TO " + service);
    }
  }

  Sample look() {
    Sample out;
    out.at = std::chrono::time_point_cast<skald::Time::duration>(std::chrono::system_clock::now());
    for (const auto& [name, pid] : site_.processes()) {
      out.cpu[name] = name == "postgres" ? cpu_of_server(pid) : cpu_of_process(pid);
      if (name == "nats") std::tie(out.total.nats_bytes_in, out.total.nats_bytes_out) = bytes_of(pid);
    }
    out.cpu[kWatch] = cpu_of_process(getpid());
    out.machine_cpu = cpu_of_machine();
    if (databases_.empty()) return out;
    for (const auto& database : databases_)
      out.backlog += number_of(*database, "SELECT count(*) FROM skald_outbox WHERE live = 1");
    Sql& booking = *databases_.front();
    out.backlog += number_of(booking, "SELECT count(*) FROM booking_record WHERE status = 'PENDING'");
    out.total.commits = number_of(booking, "SELECT sum(xact_commit) FROM pg_stat_database");
    out.total.wal_bytes = number_of(booking, "SELECT wal_bytes FROM pg_stat_wal");
    out.total.wal_syncs = number_of(booking, "SELECT wal_sync FROM pg_stat_wal");
    return out;
  }

  // Confirmed in that time, by the service's own stamps.
  double confirmed(skald::Time from, skald::Time to) {
    if (databases_.empty()) return 0;
    return number_of(*databases_.front(), "SELECT count(*) FROM booking_history WHERE what = 'CONFIRMED' AND at >= " +
                                              std::to_string(skald::to_micros(from)) + " AND at < " +
                                              std::to_string(skald::to_micros(to)));
  }

 private:
  static double number_of(Sql& sql, const std::string& text) { return std::stod(sql.value(text)); }

  const BookingSite& site_;
  std::vector<std::unique_ptr<Sql>> databases_;
};

BookingCost per_booking(const BookingCost& before, const BookingCost& after, double bookings) {
  const auto each = [&](double BookingCost::* what) { return (after.*what - before.*what) / bookings; };
  return {each(&BookingCost::commits), each(&BookingCost::wal_bytes), each(&BookingCost::wal_syncs),
          each(&BookingCost::nats_bytes_in), each(&BookingCost::nats_bytes_out)};
}

// What the samples say of the time in which bookings came.
void evaluate(BookingRun& run, const std::vector<Sample>& samples) {
  const skald::Time from = run.told.begun_at;
  const skald::Time to =
      from + std::chrono::duration_cast<skald::Duration>(std::chrono::duration<double>(run.load.seconds));
  const Sample *first = nullptr, *last = nullptr;
  for (const Sample& sample : samples) {
    if (sample.at < from || sample.at >= to) continue;
    if (first == nullptr) first = &sample;
    last = &sample;
    run.backlog.push_back(sample.backlog);
  }
  if (first == last) throw std::runtime_error("the run was too short to be looked at");
  const double span = std::chrono::duration<double>(last->at - first->at).count();
  double known = 0;
  for (const auto& [name, seconds] : last->cpu) {
    run.cpu_percent[name] = 100 * (seconds - first->cpu.at(name)) / span;
    known += run.cpu_percent[name];
  }
  run.cpu_percent[kGenerator] = run.told.own_cpu_percent;
  known += run.told.own_cpu_percent;
  run.others_cpu_percent = std::max(0.0, 100 * (last->machine_cpu - first->machine_cpu) / span - known);
  run.cost = per_booking(first->total, last->total, run.load.rate * span);
}

}  // namespace

BookingRun run_bookings(const BookingSite& site, const BookingLoad& load) {
  BookingRun run{.load = load};
  std::vector<std::string> words = {this_version().program, "demo", "booking", "--json", "--only-bookings"};
  words.insert(words.end(), site.address().begin(), site.address().end());
  words.insert(words.end(), {"--rate", number(load.rate), "--seconds", number(load.seconds), "--follow-one-in",
                             std::to_string(load.follow_one_in)});
  Watch watch(site);
  std::vector<Sample> samples;
  auto demo = std::async(std::launch::async, [&words] { return Child(words).hear_out(); });
  for (std::int64_t next = now_ns(); demo.wait_for(std::chrono::seconds(0)) != std::future_status::ready;) {
    samples.push_back(watch.look());
    next += 1'000'000'000;
    demo.wait_for(std::chrono::nanoseconds(next - now_ns()));
  }
  const std::string text = demo.get();
  if (text.empty()) throw std::runtime_error("the generator has said nothing");
  run.told = skald::from_json<Told>(text);
  if (!run.told.invariants_ok) throw std::runtime_error("seats, money and histories do not add up: " + text);
  for (const auto& [code, count] : run.told.refused) progress("refused: " + code + " " + std::to_string(count));
  evaluate(run, samples);
  const skald::Time from = run.told.begun_at + std::chrono::seconds(1);
  const skald::Time to =
      run.told.begun_at + std::chrono::duration_cast<skald::Duration>(std::chrono::duration<double>(load.seconds));
  run.confirmed_rate = watch.confirmed(from, to) / (load.seconds - 1);
  return run;
}

}  // namespace bench
