#include "support/replicated_postgres.h"

#include <filesystem>
#include <stdexcept>

#include "support/built.h"

namespace skald::test {
namespace {

// No test cuts the power: the servers need not sync. A standby that is being copied finds the log from there on, and looks
// for a primary that comes back twice a second: nobody's commit is answered before.
constexpr const char* kServerSettings =
    " fsync=off full_page_writes=off wal_keep_size=1GB wal_retrieve_retry_interval=500ms";

std::string postgres_script() { return std::string(built::kSources) + "/tools/private_postgres.sh "; }

}  // namespace

ReplicatedPostgres::ReplicatedPostgres(Commits commits) : commits_(commits) {
  namespace fs = std::filesystem;
  const fs::perms reachable = fs::perms::owner_all | fs::perms::group_read | fs::perms::group_exec |
                              fs::perms::others_read | fs::perms::others_exec;
  fs::permissions(folder_.path(), reachable);  // PostgreSQL may run as a user of its own
  std::string ends;
  for (const Server server : {Server::first, Server::second}) {
    fs::create_directory(folder(server));
    ends += postgres_script() + "signal " + folder(server) + " KILL; ";
  }
  cleanup_.emplace(ends + "rm -rf " + folder_.path().string());
  first_port_ = start_and_tell_port("start " + folder(Server::first) + kServerSettings);
  second_port_ =
      start_and_tell_port("standby " + folder(Server::second) + " " + folder(Server::first) + kServerSettings);
  wait_for_standby();
}

std::string ReplicatedPostgres::folder(Server server) const {
  return (folder_.path() / (server == Server::first ? "first" : "second")).string();
}

std::string ReplicatedPostgres::run(const std::string& words) {
  std::FILE* output = popen((postgres_script() + words + " 2>&1").c_str(), "re");
  if (output == nullptr) throw std::runtime_error("no process for " + words);
  std::string said;
  for (int c = std::fgetc(output); c != EOF; c = std::fgetc(output)) said += static_cast<char>(c);
  if (pclose(output) != 0) throw std::runtime_error("private_postgres.sh " + words + " failed: " + said);
  return said;
}

std::string ReplicatedPostgres::start_and_tell_port(const std::string& words) {
  const std::string said = run(words), mark = "@127.0.0.1:";
  const std::size_t at = said.rfind(mark);
  if (at == said.npos) throw std::runtime_error("private_postgres.sh " + words + " told no URL: " + said);
  const std::size_t begin = at + mark.size();
  return said.substr(begin, said.find('/', begin) - begin);
}

void ReplicatedPostgres::start(Server server) { run("start " + folder(server) + kServerSettings); }

void ReplicatedPostgres::promote() {
  run("promote " + folder(standby()));
  primary_ = standby();
}

void ReplicatedPostgres::rejoin() {
  kill(standby());
  std::filesystem::remove_all(std::filesystem::path(folder(standby())) / "data");
  run("standby " + folder(standby()) + " " + folder(primary_) + kServerSettings);
  wait_for_standby();
}

std::string ReplicatedPostgres::url(const std::string& database) const {
  return "postgresql://postgres@127.0.0.1:" + first_port_ + ",127.0.0.1:" + second_port_ + "/" + database +
         "?target_session_attrs=read-write&connect_timeout=2";
}

// Once all servers stream, the next commit waits for the standby.
void ReplicatedPostgres::wait_for_standby() const {
  const auto clock = system_clock();
  const auto random = system_random();
  const auto db = open_postgres({*clock, *random, silent_observer()}, {.url = primary_url(), .connections = 1});
  if (commits_ == Commits::synchronous) {
    db->query_alone("ALTER SYSTEM SET synchronous_standby_names = 'standby'");
    db->query_alone("SELECT pg_reload_conf()");
  }
  const std::string wanted = commits_ == Commits::synchronous ? "sync" : "async";
  const char* streaming = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming' AND sync_state = $1";
  while (db->query_alone(streaming, wanted).get<int>(0, 0) == 0) {}
}

}  // namespace skald::test
