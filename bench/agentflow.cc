// Workflows of agents: many started at once, what the engine adds to a work, and agents that write much.
#include <unistd.h>

#include <algorithm>

#include "agentflow_site.h"
#include "sections.h"
#include "skald/process.h"

namespace bench {
namespace {

using agentflow::WorkflowStatus;

constexpr int kFiles = 500, kStarted = 100, kWorks = 60, kInDatabase = 1000, kFlooding = 50;
constexpr std::size_t kMegabyte = 1'000'000;

double ms(std::int64_t ns) { return static_cast<double>(ns) / 1e6; }

// As many worktrees by git alone, one after the other.
double git_alone_ms(const AgentflowSite& site, const ScratchFolder& folder, int trees) {
  const auto clock = skald::system_clock();
  const std::int64_t begun = now_ns();
  for (int i = 0; i < trees; ++i) {
    const std::string name = "alone-" + std::to_string(i);
    const auto result = skald::run_command(
        *clock, {.argv = {"git", "worktree", "add", "-q", "-b", name, folder.path() + "/" + name, "main"},
                 .folder = site.repository(),
                 .variables = {{"PATH", "/usr/local/bin:/usr/bin:/bin"}}});
    if (!result.ok()) throw std::runtime_error("git: " + result.err);
  }
  return ms(now_ns() - begun);
}

struct Starts {
  double all_ms = 0;  // from the first request to the last worktree
  std::int64_t registered = 0, trees = 0, failed = 0;
};

// One agent at a time: the others' works wait, and take no processor from git.
Starts start_many(AgentflowSite& site, const std::string& git_id) {
  std::vector<std::string> ids;
  for (int i = 0; i < kStarted; ++i) ids.push_back(site.create(git_id, 1, "sleep 1000"));
  const std::int64_t begun = now_ns();
  for (const std::string& id : ids) site.start(id);
  site.until("all worktrees", 600, [&] {
    return site.count("SELECT COUNT(*) FROM flow_workflow WHERE status IN ('CREATED', 'STARTING')") == 0;
  });
  Starts out{.all_ms = ms(now_ns() - begun)};
  out.trees = site.count("SELECT COUNT(*) FROM flow_work_tree WHERE status = 'READY'");
  out.registered = site.count("SELECT json_array_length(active_workflow_ids) FROM flow_git");
  out.failed = site.count("SELECT COUNT(*) FROM flow_workflow WHERE error IS NOT NULL");
  return out;
}

// From one launch to the next: a work as a whole. Git's calls in between are taken off, and the life of the agent.
std::vector<double> overheads_ms(const std::vector<AgentflowSite::Call>& calls, const std::vector<double>& lives) {
  std::vector<std::int64_t> launches;
  for (const auto& call : calls)
    if (call.name == "agent start") launches.push_back(call.from_ns);
  std::vector<double> out;
  for (std::size_t i = 0; i + 1 < launches.size(); ++i) {
    double left = ms(launches[i + 1] - launches[i]) - lives.at(i);
    for (const auto& call : calls)
      if (call.name.starts_with("git ") && call.from_ns >= launches[i] && call.to_ns <= launches[i + 1])
        left -= ms(call.to_ns - call.from_ns);
    out.push_back(left);
  }
  std::ranges::sort(out);
  return out;
}

// Whether all of it is there, and in order.
bool is_whole(AgentflowSite& site, const std::string& work_id, int megabytes) {
  std::size_t read = 0;
  for (std::string part; !(part = site.output(work_id, read)).empty(); read += part.size())
    for (std::size_t i = 0; i < part.size(); ++i) {
      const std::size_t at = read + i;
      const char expected = at % 100 == 99 ? '\n' : static_cast<char>('a' + at / kMegabyte % 26);
      if (part[i] != expected) return false;
    }
  return read == static_cast<std::size_t>(megabytes) * kMegabyte;
}

}  // namespace

void measure_flow_starts(const Options& options, Report& report) {
  std::vector<double> ratios;
  std::vector<std::vector<std::string>> rows;
  // All of them stay until the end: a disk is slower while it gets rid of what was deleted.
  std::vector<std::unique_ptr<AgentflowSite>> sites;
  std::vector<std::unique_ptr<ScratchFolder>> folders;
  const auto alone_ms = [&](const AgentflowSite& site) {
    return git_alone_ms(site, *folders.emplace_back(std::make_unique<ScratchFolder>()), kStarted / 2);
  };
  for (int round = 0; round < options.rounds; ++round) {
    AgentflowSite& site = *sites.emplace_back(std::make_unique<AgentflowSite>(1));
    AgentflowSite& other = *sites.emplace_back(std::make_unique<AgentflowSite>(1));
    const std::string git_id = site.add_git(kFiles);
    other.add_git(kFiles);
    // Half before and half behind: the machine may have changed its mind in between.
    double alone = alone_ms(other);
    const Starts starts = start_many(site, git_id);
    alone += alone_ms(site);
    ratios.push_back(starts.all_ms / alone);
    rows.push_back({number(starts.all_ms), number(alone), number(ratios.back(), 2), std::to_string(starts.registered),
                    std::to_string(starts.trees), std::to_string(starts.failed)});
    if (starts.registered != kStarted || starts.trees != kStarted || starts.failed != 0)
      report.check("workflows that started", {Target::Kind::at_least, kStarted}, double(starts.trees), "workflows");
  }
  report.table(std::to_string(kStarted) + " workflows started at once on one git of " + std::to_string(kFiles) +
                   " files: milliseconds until the last worktree, beside `git worktree add` in a loop",
               {"ours", "git alone", "ratio", "registered", "worktrees", "failed"}, rows);
  report.chart("worktrees, beside git alone", "x", {{"workflows that start at once", median(ratios)}, {"git", 1}});
  report.check("worktrees of workflows that start at once, beside git alone", {Target::Kind::at_most, 1.2},
               median(ratios));
}

void measure_flow_overhead(const Options&, Report& report) {
  AgentflowSite site(1);
  const std::string id = site.create(site.add_git(kFiles), kWorks, "true");
  site.start(id);
  site.until("the end of the workflow", 600, [&] { return site.show(id).status == WorkflowStatus::COMPLETED; });
  std::vector<double> lives;
  for (const auto& work : site.works(id))
    lives.push_back(double(site.count("SELECT milliseconds FROM flow_usage WHERE work_id = '" + work.id + "'")));
  std::vector<double> overheads = overheads_ms(site.calls(), lives);
  const double p50 = percentile(overheads, 0.5);
  report.table("What the engine adds to a work, without its agent and without git: milliseconds, embedded, synced",
               {"works", "p50", "p99", "longest"},
               {{std::to_string(overheads.size()), number(p50, 1), number(percentile(overheads, 0.99), 1),
                 number(overheads.back(), 1)}});
  report.chart("overhead per work", "ms", {{"p50", p50}, {"p99", percentile(overheads, 0.99)}});
  report.check("overhead per work, p50", {Target::Kind::at_most, 20}, p50, "ms");
}

void measure_flow_flood(const Options& options, Report& report) {
  const int megabytes = static_cast<int>(options.seconds);
  AgentflowSite site(kFlooding);
  const std::string git_id = site.add_git(1);
  for (int i = kFlooding; i < kInDatabase; ++i) site.create(git_id, 1, "true");
  // A megabyte a second, in lines of 99 letters.
  const std::string script =
      "n=0; for c in a b c d e f g h i j k l m n o p q r s t u v w x y z; do [ $n -lt " + std::to_string(megabytes) +
      " ] || break; n=$((n+1)); head -c 990000 /dev/zero | tr '\\0' $c | fold -w 99; echo; sleep 0.9; done";
  std::vector<std::string> ids;
  for (int i = 0; i < kFlooding; ++i) ids.push_back(site.create(git_id, 1, script));
  const double before = memory_of_process(getpid());
  for (const std::string& id : ids) site.start(id);
  site.until("the end of all agents", 600 + 20 * options.seconds, [&] {
    return site.count("SELECT COUNT(*) FROM flow_workflow WHERE status IN ('COMPLETED', 'FAILED')") == kFlooding;
  });
  const double peak = memory_peak_of_process(getpid());
  int whole = 0;
  for (const std::string& id : ids) whole += is_whole(site, site.works(id)[0].id, megabytes) ? 1 : 0;
  report.table(std::to_string(kInDatabase) + " workflows in the database, " + std::to_string(kFlooding) +
                   " agents at once that write " + std::to_string(megabytes) + " MB each, a megabyte a second",
               {"memory before, MB", "at most, MB", "outputs that are whole"},
               {{number(before, 1), number(peak, 1), std::to_string(whole) + " of " + std::to_string(kFlooding)}});
  report.check("memory that " + std::to_string(kFlooding) + " writing agents cost the engine",
               {Target::Kind::at_most, 64}, peak - before, "MB");
  report.check("outputs that are whole", {Target::Kind::at_least, kFlooding}, whole, "outputs");
}

}  // namespace bench
