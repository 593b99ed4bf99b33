#include "measure.h"

#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <sstream>
#include <stdexcept>

namespace bench {
namespace {

struct ProcessTimes {
  pid_t parent = 0;
  double own = 0;       // user and system
  double children = 0;  // of those that have ended and were waited for
};

ProcessTimes times_of(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const auto end_of_name = text.rfind(')');
  if (end_of_name == std::string::npos) return {};  // ended in between
  std::istringstream fields(text.substr(end_of_name + 2));
  std::string word;
  std::vector<std::string> words;
  while (fields >> word) words.push_back(word);
  const double tick = 1.0 / static_cast<double>(sysconf(_SC_CLK_TCK));
  const auto seconds = [&](std::size_t at) { return std::stod(words.at(at)) * tick; };
  return {static_cast<pid_t>(std::stol(words.at(1))), seconds(11) + seconds(12), seconds(13) + seconds(14)};
}

}  // namespace

std::int64_t now_ns() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * std::int64_t{1'000'000'000} + t.tv_nsec;
}

void sleep_until_ns(std::int64_t at) {
  const timespec t{at / 1'000'000'000, at % 1'000'000'000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, nullptr);
}

void sleep_for_seconds(double seconds) { sleep_until_ns(now_ns() + static_cast<std::int64_t>(seconds * 1e9)); }

double median(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  const auto half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

double percentile(std::vector<double>& sorted, double share) {
  if (sorted.empty()) return std::nan("");
  return sorted[std::min(sorted.size() - 1, static_cast<std::size_t>(static_cast<double>(sorted.size()) * share))];
}

double cpu_of_process(pid_t pid) { return times_of(std::to_string(pid)).own; }

double cpu_of_server(pid_t postmaster) {
  const ProcessTimes head = times_of(std::to_string(postmaster));
  double sum = head.own + head.children;
  DIR* dir = opendir("/proc");
  while (const dirent* entry = readdir(dir)) {
    const std::string name = entry->d_name;
    if (name.find_first_not_of("0123456789") != std::string::npos) continue;
    const ProcessTimes times = times_of(name);
    if (times.parent == postmaster) sum += times.own;
  }
  closedir(dir);
  return sum;
}

namespace {

double status_megabytes(pid_t pid, const std::string& field) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(field + ":")) return std::stod(line.substr(field.size() + 1)) / 1024;
  return std::nan("");
}

}  // namespace

double memory_of_process(pid_t pid) { return status_megabytes(pid, "VmRSS"); }
double memory_peak_of_process(pid_t pid) { return status_megabytes(pid, "VmHWM"); }

CpuWatch::CpuWatch(std::vector<pid_t> clients, std::optional<pid_t> postmaster)
    : clients_(std::move(clients)), postmaster_(postmaster), before_(read()), begun_(now_ns()) {}

std::vector<double> CpuWatch::read() const {
  std::vector<double> out;
  for (const pid_t pid : clients_) out.push_back(cpu_of_process(pid));
  out.push_back(postmaster_ ? cpu_of_server(*postmaster_) : 0);
  out.push_back(cpu_of_machine());
  return out;
}

CpuWatch::Shares CpuWatch::shares() const {
  const double span = static_cast<double>(now_ns() - begun_) / 1e9;
  std::vector<double> used = read();
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = (used[i] - before_[i]) / span * 100;
  Shares out{{used.begin(), used.end() - 2}, used[used.size() - 2], 0};
  out.others = std::max(0.0, used.back() - out.total());
  return out;
}

double CpuWatch::Shares::total() const { return std::accumulate(clients.begin(), clients.end(), server); }

double cpu_of_machine() {
  std::ifstream file("/proc/stat");
  std::string cpu;
  double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0;
  file >> cpu >> user >> nice >> system >> idle >> wait >> irq >> soft;
  return (user + nice + system + irq + soft) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

void progress(const std::string& what) { std::fprintf(stderr, "bench: %s\n", what.c_str()); }

double per_second(const std::vector<Stamp>& stamps, std::int64_t from, std::int64_t to) {
  const auto inside = std::ranges::count_if(stamps, [&](const Stamp& s) { return s.at_ns >= from && s.at_ns < to; });
  return static_cast<double>(inside) / (static_cast<double>(to - from) / 1e9);
}

void write_stamps(const std::string& path, const std::vector<Stamp>& stamps) {
  std::ofstream file(path, std::ios::binary);
  file.write(reinterpret_cast<const char*>(stamps.data()), static_cast<std::streamsize>(stamps.size() * sizeof(Stamp)));
  if (!file.flush()) throw std::runtime_error("cannot write " + path);
}

std::vector<Stamp> read_stamps(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) throw std::runtime_error("cannot read " + path);
  std::vector<Stamp> out(static_cast<std::size_t>(file.tellg()) / sizeof(Stamp));
  file.seekg(0);
  file.read(reinterpret_cast<char*>(out.data()), static_cast<std::streamsize>(out.size() * sizeof(Stamp)));
  return out;
}

ScratchFolder::ScratchFolder() : path_((std::filesystem::temp_directory_path() / "skald-bench.XXXXXX").string()) {
  if (mkdtemp(path_.data()) == nullptr) throw std::runtime_error("no temporary folder");
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace bench
