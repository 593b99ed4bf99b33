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
  std::string peer;      // "skald", or what peers/peer.mjs is told
  std::string settings;  // for the reader
};

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

  std::vector<Stamp> handled() const { return read_stamps(times("consumer")); }
  std::vector<Stamp> produced() const { return read_stamps(times("producer")); }
  const std::string& url() const { return url_; }
  const std::string& database() const { return database_; }

 private:
  std::vector<std::string> command(const std::string& role, double rate, double seconds, std::int64_t count) const;
  std::string times(const std::string& role) const;

  Server& server_;
  Contestant contestant_;
  std::string database_, url_, folder_;
};

}  // namespace bench
