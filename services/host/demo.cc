// skald demo booking
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <ostream>

#include "cli/command.h"
#include "cli/output.h"
#include "host/demo_traffic.h"
#include "host/program.h"
#include "runtime/signals.h"
#include "runtime/wakeup.h"
#include "runtime/worker_pool.h"
#include "skald/checklist.h"

namespace skald::host {
namespace {

constexpr int kCustomersAtOnce = 256, kFollowedAtOnce = 200;  // a server has 256 streams at most

struct Summary {
  Time begun_at{};
  double seconds = 0, rate = 0;
  std::int64_t sent = 0, booked = 0, confirmed = 0, cancelled = 0, pending = 0;
  std::map<std::string, std::int64_t> refused;
  double p50_ms = 0, p99_ms = 0, worst_ms = 0;  // from when a booking was due to when it was seen confirmed
  double late_p99_ms = 0, latest_ms = 0;        // that a request was sent behind its time
  double own_cpu_percent = 0;                   // of one core, by this command itself
  bool invariants_ok = false;
};
BOOST_DESCRIBE_STRUCT(Summary, (),
                      (begun_at, seconds, rate, sent, booked, confirmed, cancelled, pending, refused, p50_ms, p99_ms,
                       worst_ms, late_p99_ms, latest_ms, own_cpu_percent, invariants_ok))

double millis(Duration time) { return std::chrono::duration<double, std::milli>(time).count(); }

double own_cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

// The share of `times` that are no longer; zero where there are none.
double longest_of(std::vector<Duration>& times, double share) {
  if (times.empty()) return 0;
  const auto at = times.begin() + static_cast<std::ptrdiff_t>(share * static_cast<double>(times.size() - 1));
  std::ranges::nth_element(times, at);
  return millis(*at);
}

// What the generator has by itself: when it began, how fast it is meant to be, the CPU it had used by then.
struct Plan {
  Time begun_at;
  double rate, cpu_before;
};

Summary summary_of(DemoFigures figures, double seconds, const Plan& plan) {
  Summary out{.begun_at = plan.begun_at,
              .seconds = seconds,
              .rate = plan.rate,
              .sent = figures.sent,
              .booked = figures.booked,
              .confirmed = figures.confirmed,
              .cancelled = figures.cancelled,
              .pending = figures.pending,
              .refused = std::move(figures.refused)};
  out.p50_ms = longest_of(figures.waits, 0.5);
  out.p99_ms = longest_of(figures.waits, 0.99);
  out.worst_ms = longest_of(figures.waits, 1);
  out.late_p99_ms = longest_of(figures.late, 0.99);
  out.latest_ms = longest_of(figures.late, 1);
  out.own_cpu_percent = 100 * (own_cpu_seconds() - plan.cpu_before) / seconds;
  return out;
}

void print(std::ostream& out, const Summary& now) {
  char line[200];
  std::snprintf(line, sizeof line,
                "%4.0f s  sent %lld  confirmed %lld  cancelled %lld  pending %lld  p50 %.1f ms  p99 %.1f ms",
                now.seconds, static_cast<long long>(now.sent), static_cast<long long>(now.confirmed),
                static_cast<long long>(now.cancelled), static_cast<long long>(now.pending), now.p50_ms, now.p99_ms);
  out << line;
  for (const auto& [code, count] : now.refused) out << "  " << cli::printable(code) << ' ' << count;
  out << '\n' << std::flush;
}

double number_flag(const cli::Arguments& arguments, const std::string& name, double standard, double most) {
  const std::string text = arguments.flag(name);
  if (text.empty()) return standard;
  char* end = nullptr;
  const double value = std::strtod(text.c_str(), &end);
  if (*end != '\0' || !(value > 0) || value > most)
    throw Invalid("USAGE", "--" + name + " must be a number above 0, up to " + std::to_string(static_cast<int>(most)));
  return value;
}

}  // namespace

int demo(Program& program, std::ostream& out) {
  const cli::Arguments& arguments = program.arguments;
  const double rate = number_flag(arguments, "rate", 20, 5000), seconds = number_flag(arguments, "seconds", 30, 86'400);
  DemoOptions options;
  options.follow_one_in = static_cast<std::int64_t>(std::ceil(number_flag(arguments, "follow-one-in", 1, 1e6)));
  if (arguments.flags.contains("only-bookings")) options.only_bookings = static_cast<std::int64_t>(rate * seconds);
  const cli::Remote server =
      running_server(program, std::chrono::duration_cast<Duration>(std::chrono::duration<double>(seconds)) + 1h);
  runtime::StopSignals signals;
  std::optional<runtime::WorkerPool> followers(kFollowedAtOnce);
  DemoTraffic traffic(program.env, server, options,
                      [&followers](std::function<void()> job) { followers->post(std::move(job)); });
  Clock& clock = program.env.clock;
  const Instant begun = clock.steady();
  const Time first = clock.now();
  const Plan plan{first, rate, own_cpu_seconds()};
  const auto elapsed = [&] { return std::chrono::duration<double>(clock.steady() - begun).count(); };
  double cpu_while_sending = 0;  // waiting for the last ones costs next to nothing, and would hide it
  {
    runtime::WorkerPool customers(kCustomersAtOnce);
    double told = 1;
    bool stopped = false;
    for (std::int64_t i = 0; !stopped && static_cast<double>(i) < rate * seconds; ++i) {
      const auto due =
          std::chrono::duration_cast<Duration>(std::chrono::duration<double>(static_cast<double>(i) / rate));
      const Duration wait = due - (clock.steady() - begun);
      if (wait > Duration::zero()) stopped = signals.wait(wait);
      customers.post([&traffic, when = first + due] { traffic.act(when); });
      if (elapsed() < told || arguments.json()) continue;
      print(out, summary_of(traffic.figures(), elapsed(), plan));
      told = elapsed() + 1;
    }
    cpu_while_sending = 100 * (own_cpu_seconds() - plan.cpu_before) / elapsed();
  }
  followers.reset();  // when the last one is known
  Summary end = summary_of(traffic.figures(), elapsed(), plan);
  end.own_cpu_percent = cpu_while_sending;
  end.invariants_ok = from_json<Invariants>(cli::ask(cli::remote_api(server), "GET", "/booking/invariants")).ok;
  if (arguments.json()) {
    cli::print_json(out, to_json(end));
  } else {
    print(out, end);
    out << (end.invariants_ok ? "seats, money and histories add up" : "INVARIANTS ARE BROKEN: GET /booking/invariants")
        << "; own CPU " << static_cast<int>(end.own_cpu_percent) << " % of a core, sent at most "
        << static_cast<int>(end.latest_ms) << " ms late\n";
  }
  return end.invariants_ok && end.pending == 0 ? cli::kDone : cli::kFailed;
}

}  // namespace skald::host
