// Times, medians, percentiles, and whose CPU was used.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace bench {

// CLOCK_MONOTONIC, the same in every process of the machine.
std::int64_t now_ns();
void sleep_until_ns(std::int64_t at);
void sleep_for_seconds(double seconds);

double median(std::vector<double> values);
double percentile(std::vector<double>& sorted, double share);  // `sorted` is

// CPU seconds used so far by a process, and by a PostgreSQL server with all of its
// sessions, those that have ended included.
double cpu_of_process(pid_t pid);
double cpu_of_server(pid_t postmaster);
// Seconds of busy cores since the machine started, whoever used them.
double cpu_of_machine();

// Megabytes in memory, and the most that there have been.
double memory_of_process(pid_t pid);
double memory_peak_of_process(pid_t pid);

// Whose CPU is used from its making on, in % of one core.
class CpuWatch {
 public:
  CpuWatch(std::vector<pid_t> clients, std::optional<pid_t> postmaster);
  struct Shares {
    std::vector<double> clients;
    double server = 0, others = 0;
    double total() const;  // without the others
  };
  Shares shares() const;

 private:
  std::vector<double> read() const;

  std::vector<pid_t> clients_;
  std::optional<pid_t> postmaster_;
  std::vector<double> before_;
  std::int64_t begun_;
};

// A folder that is there as long as this is.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Tells on stderr what goes on; the tables go to stdout.
void progress(const std::string& what);

// When each event's commit was known. Of a saga: when it began (in place of its
// number) and when it had ended.
struct Stamp {
  std::int64_t event;
  std::int64_t at_ns;
};
double per_second(const std::vector<Stamp>& stamps, std::int64_t from, std::int64_t to);
void write_stamps(const std::string& path, const std::vector<Stamp>& stamps);
std::vector<Stamp> read_stamps(const std::string& path);

}  // namespace bench
