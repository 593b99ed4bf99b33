#include "booking_site.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "measure.h"
#include "support/built.h"

namespace bench {
namespace {

namespace fs = std::filesystem;

constexpr double kStartMax = 30;

std::string first_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line)) throw std::runtime_error("cannot read " + path);
  return line;
}

std::uint16_t port_in(std::string_view text) { return static_cast<std::uint16_t>(std::stoul(std::string(text))); }

// {"address":"127.0.0.1:4711",...}
std::uint16_t port_of_server(const std::string& server_file) {
  constexpr std::string_view kMark = "127.0.0.1:";
  const std::string line = first_line(server_file);
  return port_in(std::string_view(line).substr(line.find(kMark) + kMark.size()));
}

void run_cluster(const Version& version, const std::string& folder, const std::string& action) {
  const std::string command = "'" + version.sources + "/tools/cluster.sh' --dir '" + folder + "' " + action + " >&2";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("the cluster: " + action + " has failed");
}

}  // namespace

Version this_version() { return {skald::built::kSources, skald::built::kProgram}; }

Version version_in(const std::string& tree) { return {tree, tree + "/build/release/skald"}; }

BookingSite::BookingSite(Kind kind, Version version) : kind_(kind), version_(std::move(version)) {
  if (kind_ == Kind::embedded) start_embedded();
  else start_cluster();
}

void BookingSite::start_embedded() {
  folder_ = (fs::temp_directory_path() / "skald-bench.XXXXXX").string();
  if (mkdtemp(folder_.data()) == nullptr) throw std::runtime_error("no temporary folder");
  // Its log must not fill the pipe to us.
  server_ = std::make_unique<Child>(std::vector<std::string>{
      "sh", "-c", "exec \"$@\" >\"$0\" 2>&1", folder_ + "/log", version_.program, "serve", "--services",
      "booking,course,notify,user-api", "--data", folder_ + "/data", "--listen", "127.0.0.1:0"});
  const std::int64_t end = now_ns() + static_cast<std::int64_t>(kStartMax * 1e9);
  while (!fs::exists(folder_ + "/data/server.json")) {
    if (now_ns() > end) throw std::runtime_error("skald serve did not start: " + first_line(folder_ + "/log"));
    sleep_for_seconds(0.05);
  }
  processes_ = {{"skald serve", server_->pid()}};
  port_ = port_of_server(folder_ + "/data/server.json");
  address_ = {"--data", folder_ + "/data"};
}

// The folder is given by ./dev, which stops the cluster also where this process is killed.
void BookingSite::start_cluster() {
  const char* folder = std::getenv("SKALD_BENCH_CLUSTER");
  if (folder == nullptr) throw std::runtime_error("SKALD_BENCH_CLUSTER is not set; ./dev bench booking sets it");
  folder_ = folder;
  run_cluster(version_, folder_, "up");
  for (const char* name : {"user-api", "booking", "course", "notify", "nats"})
    processes_.push_back({name, static_cast<pid_t>(std::stol(first_line(folder_ + "/" + name + "/pid")))});
  processes_.push_back(
      {"postgres", static_cast<pid_t>(std::stol(first_line(folder_ + "/postgres/data/postmaster.pid")))});
  port_ = port_in(first_line(folder_ + "/user-api/port"));
  address_ = {"--server", "http://127.0.0.1:" + std::to_string(port_)};
}

BookingSite::~BookingSite() {
  server_.reset();
  if (kind_ == Kind::embedded) {
    fs::remove_all(folder_);
    return;
  }
  try {
    run_cluster(version_, folder_, "down --wipe");
  } catch (const std::exception& error) {
    progress(error.what());
  }
}

std::string BookingSite::database(const std::string& service) const {
  const std::string url = first_line(folder_ + "/postgres/url");
  return url.substr(0, url.rfind('/') + 1) + service;
}

}  // namespace bench
