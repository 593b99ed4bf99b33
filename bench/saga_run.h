// One run of a contestant's order sagas, each process of it apart, and what it cost.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "contestant.h"
#include "report.h"

namespace bench {

inline constexpr int kInFlight = 64;
inline constexpr int kConnections = 8;
inline constexpr double kWarmUpSeconds = 2;  // enough for a JIT

struct SagaRun {
  double rate = 0;                      // sagas ended per second
  double p50_ms = 0, p99_ms = 0;        // of those, from start to end
  double client_cpu = 0, server_cpu = 0, other_cpu = 0;  // in % of one core
  double cpu_us = 0;                    // of all processes and PostgreSQL, per saga
};

// A process of ours that runs sagas on a database that is there already.
class SagaProcess {
 public:
  // For run(seconds); `times` is a file that it may write.
  SagaProcess(const Contestant& contestant, const std::string& url, const std::string& times, int in_flight,
              double seconds);
  // `postmaster`: whose CPU counts as the server's.
  SagaRun run(std::optional<pid_t> postmaster);
  pid_t pid() const { return child_.pid(); }
  double memory() const { return memory_; }  // megabytes, at the end of its run

 private:
  const std::string times_;
  const double seconds_;
  double memory_ = 0;
  Child child_;
};

// The runs of one contestant in a series of interleaved rounds, each on a database of its own.
struct SagaSeries {
  Contestant contestant;
  int in_flight = kInFlight;            // of each process, as its connections are
  int processes = 1;
  double warm_up = kWarmUpSeconds;
  std::vector<SagaRun> runs = {};

  void run(Server& server, double seconds);
  double middle(double SagaRun::* field) const;
};

Contestant skald_fused();
Contestant skald_committed();
Contestant hand_steps();
Contestant hand_fused();
Contestant hand_pipelined();
// The peers of --peers; one that cannot be had is said in the report and left out.
std::vector<Contestant> saga_peers(Report& report);

}  // namespace bench
