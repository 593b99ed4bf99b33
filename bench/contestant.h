// Who is measured: Skald and its peers, behind one set of commands.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "child.h"
#include "measure.h"
#include "server.h"

namespace bench {

struct Contestant {
  std::string name;      // as the tables show it
  std::string peer;      // "skald…" and "hand…", or what the scripts in peers/ are told
  std::string settings;  // for the reader
  std::string program = "/proc/self/exe";  // which plays the roles of "skald…" and "hand…"
  std::vector<std::string> consumer_under = {};  // a command that runs its consumer
};

// Node, as the peers want it; and one of the peers' scripts or packages.
std::string node();
std::string peers_file(const std::string& path);

Contestant skald();
Contestant pg_boss_polling();    // its best for throughput
Contestant pg_boss_draining();   // its best for a backlog, seen with these handlers
Contestant pg_boss_notified();   // its best for latency
Contestant graphile_worker();
Contestant naive_outbox();        // with the handler's write
Contestant naive_outbox_empty();  // with a handler that does nothing

// One contestant on a database of its own.
class Match {
 public:
  Match(Server& server, const Contestant& contestant);
  ~Match();

  std::unique_ptr<Child> consumer();  // "ready"
  std::unique_ptr<Child> producer(double rate, double seconds);
  void preload(std::int64_t count);

  // A process with so many sagas in flight at once, one of several where `which` says so.
  std::unique_ptr<Child> sagas(int in_flight, double seconds, int which = 0);

  std::vector<Stamp> ended(int which = 0) const { return read_stamps(times("sagas", which)); }
  std::vector<Stamp> handled() const { return read_stamps(times("consumer")); }
  std::vector<Stamp> produced() const { return read_stamps(times("producer")); }
  const std::string& url() const { return url_; }
  const std::string& database() const { return database_; }

 private:
  std::vector<std::string> command(const std::string& role, double rate, double seconds, std::int64_t count,
                                   int which = 0) const;
  std::string times(const std::string& role, int which = 0) const;

  Server& server_;
  Contestant contestant_;
  std::string database_, url_, folder_;
};

}  // namespace bench
