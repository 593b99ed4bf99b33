#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "saga_run.h"
#include "sections.h"

namespace bench {
namespace {

constexpr std::int64_t kDrained = 20'000;
constexpr double kCountingSeconds = 300;  // Callgrind is some fifty times slower

std::vector<std::string> counting(const std::string& file) {
  return {"valgrind", "--quiet", "--tool=callgrind", "--callgrind-out-file=" + file};
}

double total_in(const std::string& file) {
  std::ifstream in(file);
  constexpr std::string_view kTotals = "totals: ";
  for (std::string line; std::getline(in, line);)
    if (line.starts_with(kTotals)) return std::stod(line.substr(kTotals.size()));
  throw std::runtime_error("Callgrind has counted nothing; is valgrind installed?");
}

double per_saga(const std::string& program, const std::string& peer, double seconds) {
  const ScratchFolder folder;
  const std::string counted = folder.path() + "/counted", times = folder.path() + "/times";
  std::vector<std::string> command = counting(counted);
  command.insert(command.end(), {program, "role", "sagas", peer, folder.path() + "/sagas.db", times,
                                 std::to_string(kInFlight), std::to_string(seconds), "0"});
  Child child(command);
  child.expect("ready", kCountingSeconds);
  child.tell("go");
  child.expect("done", kCountingSeconds);
  child.hear_out();  // it writes at its end
  return total_in(counted) / static_cast<double>(read_stamps(times).size());
}

double per_event(Server& server, const std::string& program) {
  const ScratchFolder folder;
  const std::string counted = folder.path() + "/counted";
  Contestant contestant = skald();
  contestant.program = program;
  contestant.consumer_under = counting(counted);
  Match match(server, contestant);
  const auto consumer = match.consumer();
  match.preload(kDrained);
  Sql sql(match.url());
  const std::int64_t begun = now_ns();
  consumer->tell("go");
  while (std::stoll(sql.value("SELECT count(*) FROM bench_effect")) < kDrained) {
    if (static_cast<double>(now_ns() - begun) / 1e9 > kCountingSeconds)
      throw std::runtime_error("the backlog does not drain");
    sleep_for_seconds(0.25);
  }
  consumer->tell("stop");
  consumer->expect("done", kCountingSeconds);
  consumer->hear_out();
  return total_in(counted) / static_cast<double>(kDrained);
}

}  // namespace

void measure_instructions(Server& server, const Options& options, Report& report) {
  const std::string before = options.program, now = std::filesystem::read_symlink("/proc/self/exe").string();
  std::vector<std::vector<std::string>> rows;
  const auto compare = [&](const std::string& work, const auto& count) {
    const double then = count(before), ours = count(now);
    progress(work + ": " + number(then) + " instructions before, " + number(ours) + " now");
    rows.push_back({work, number(then), number(ours), number(then / ours, 3) + "x"});
    report.check(work + ", instructions against the version before", {Target::Kind::at_least, 0.97}, then / ours);
  };
  compare("an order saga on SQLite",
          [&](const std::string& program) { return per_saga(program, "skald:fused:1", options.seconds); });
  compare("an order saga on SQLite, a commit per step",
          [&](const std::string& program) { return per_saga(program, "skald:committed:1", options.seconds); });
  compare("an event of a backlog", [&](const std::string& program) { return per_event(server, program); });
  report.table("This version beside the one before: instructions of its process", {"for", "before", "now", "ratio"},
               rows);
}

}  // namespace bench
