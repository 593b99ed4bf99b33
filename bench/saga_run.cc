#include "saga_run.h"

#include <algorithm>

#include "saga_restate.h"

namespace bench {
namespace {

constexpr double kEdge = 0.5;    // so that nobody stops before the watch has ended

struct Window {
  std::int64_t from, to;
  CpuWatch::Shares cpu;
};

// What happens after the warm-up.
Window watch(const std::vector<pid_t>& pids, std::optional<pid_t> postmaster, double warm_up, double seconds) {
  sleep_for_seconds(warm_up);
  const CpuWatch cpu(pids, postmaster);
  const std::int64_t from = now_ns();
  sleep_for_seconds(seconds);
  return {from, now_ns(), cpu.shares()};
}

SagaRun evaluate(const std::vector<Stamp>& ended, const Window& window) {
  SagaRun run;
  run.rate = per_second(ended, window.from, window.to);
  std::vector<double> times;
  for (const Stamp& stamp : ended)
    if (stamp.at_ns >= window.from && stamp.at_ns < window.to)
      times.push_back(static_cast<double>(stamp.at_ns - stamp.event) / 1e6);
  std::ranges::sort(times);
  run.p50_ms = percentile(times, 0.5);
  run.p99_ms = percentile(times, 0.99);
  run.client_cpu = window.cpu.total() - window.cpu.server;
  run.server_cpu = window.cpu.server;
  run.other_cpu = window.cpu.others;
  run.cpu_us = window.cpu.total() * 1e4 / run.rate;
  return run;
}

SagaRun run_once(Server& server, const SagaSeries& series, double seconds) {
  std::optional<RestateServer::Ports> ports;
  if (series.contestant.peer == "restate") ports = RestateServer::Ports::free();
  Contestant told = series.contestant;
  if (ports) told.peer += ":" + std::to_string(ports->ingress);
  Match match(server, told);
  std::optional<RestateServer> restate;
  if (ports) restate.emplace(match.url(), *ports);
  std::vector<std::unique_ptr<Child>> children;
  std::vector<pid_t> pids;
  if (restate) pids = restate->pids();
  for (int i = 0; i < series.processes; ++i) {
    children.push_back(match.sagas(series.in_flight, series.warm_up + seconds + kEdge, i));
    pids.push_back(children.back()->pid());
  }
  for (const auto& child : children) child->tell("go");
  const Window window = watch(pids, server.postmaster(), series.warm_up, seconds);
  std::vector<Stamp> ended;
  for (int i = 0; i < series.processes; ++i) {
    children[static_cast<std::size_t>(i)]->expect("done");
    const auto more = match.ended(i);
    ended.insert(ended.end(), more.begin(), more.end());
  }
  return evaluate(ended, window);
}

}  // namespace

SagaProcess::SagaProcess(const Contestant& contestant, const std::string& url, const std::string& times, int in_flight,
                         double seconds)
    : times_(times),
      seconds_(seconds),
      child_({contestant.program, "role", "sagas", contestant.peer, url, times, std::to_string(in_flight),
              std::to_string(kWarmUpSeconds + seconds + kEdge), "0"}) {
  child_.expect("ready");
}

SagaRun SagaProcess::run(std::optional<pid_t> postmaster) {
  child_.tell("go");
  const Window window = watch({child_.pid()}, postmaster, kWarmUpSeconds, seconds_);
  memory_ = memory_of_process(child_.pid());
  child_.expect("done");
  return evaluate(read_stamps(times_), window);
}

void SagaSeries::run(Server& server, double seconds) {
  runs.push_back(run_once(server, *this, seconds));
  progress(contestant.name + ", " + std::to_string(in_flight * processes) + " in flight: " + number(runs.back().rate) +
           "/s, p50 " + number(runs.back().p50_ms, 2) + " ms");
}

double SagaSeries::middle(double SagaRun::* field) const {
  std::vector<double> values;
  for (const SagaRun& run : runs) values.push_back(run.*field);
  return median(values);
}

Contestant skald_fused() {
  return {"skald", "skald:fused:8", "8 connections, 64 threads call Sagas::run; the outbox is relayed, too"};
}
Contestant skald_committed() {
  return {"skald, a commit per step", "skald:committed:8", "as before, with commit() after each step"};
}
Contestant hand_steps() {
  return {"by hand, a commit per step", "hand:steps:8",
          "8 threads on 8 connections, prepared, a round trip per statement; nobody relays the events"};
}
Contestant hand_fused() {
  return {"by hand, one commit", "hand:fused:8",
          "as before, all three steps in one transaction, one saga row with the log of its steps"};
}
Contestant hand_pipelined() {
  return {"by hand, one commit, pipelined", "hand:pipelined:8",
          "as before, in two round trips: the guard of the stock is looked at before the payment"};
}

std::vector<Contestant> saga_peers(Report& report) {
  std::vector<Contestant> out = {
      {"DBOS Transact", "dbos:16",
       "each step a transaction of its PostgreSQL data source, pools of 16, one Node process; no events"}};
  if (const auto missing = RestateServer::missing()) {
    progress("Restate is left out: " + *missing);
    report.setting("Restate", "left out: " + *missing);
  } else {
    out.push_back({"Restate", "restate",
                   "2 partitions, each step a ctx.run of a service with a pool of 16, HTTP keep-alive; no events"});
  }
  return out;
}

}  // namespace bench
