// What a connection is opened with: the URL's own settings and ours.
//
// A URL may name several hosts, of which one is the primary. All copies of these settings share what their
// connections learn of the hosts, so that one discovery serves them all. Thread safe but for set().
//
// | the host                                  | what a new connection does                               |
// | is a standby, or read-only                | tries the next                                           |
// | does not answer within connect_timeout    | tries the next; the one that answered is tried first later |
// | is a primary on an older timeline than one that was seen | refuses it: it was replaced, and nobody fenced it |
#pragma once

#include <libpq-fe.h>

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "skald/database.h"

namespace skald::postgres {

// Counts up with every promotion of a standby.
using Timeline = std::uint32_t;

// session: to the server itself. pooled: through a pooler, which may give each transaction another session.
enum class Route { session, pooled };

class ConnectSettings {
 public:
  // Throws Invalid (BAD_DATABASE_URL); its text never holds the URL, which may
  // hold a password.
  explicit ConnectSettings(const PostgresOptions& options, Route route = Route::session);

  // Adds a run-time parameter of the server ("synchronous_commit", "off").
  void set(std::string_view parameter, std::string_view value);

  Route route() const { return route_; }
  // What each transaction has to set by itself, because the session is not ours.
  const std::vector<std::string>& local_names() const { return local_names_; }
  const std::vector<std::string>& local_values() const { return local_values_; }

  // As PQconnectdbParams and PQconnectStartParams do it.
  PGconn* connect() const;
  PGconn* begin_connecting() const;

  // A connection stands. False: it leads to a primary that was replaced; the next attempt begins elsewhere.
  bool accept(const PGconn* connection, Timeline timeline) const;
  // An attempt came to nothing: the next one begins with another host.
  void begin_elsewhere() const;
  // The newest that any connection has seen.
  Timeline timeline() const { return learnt_->timeline; }

 private:
  struct Host {
    std::string name, address, port;
  };
  struct Learnt {
    std::atomic<std::size_t> first = 0;  // of hosts_
    std::atomic<Timeline> timeline = 0;
  };

  void read_hosts();
  std::map<std::string, std::string> settings_from_first() const;

  Route route_;
  std::map<std::string, std::string> settings_;
  std::vector<std::string> local_names_, local_values_;
  std::vector<Host> hosts_;  // where there are several
  std::shared_ptr<Learnt> learnt_ = std::make_shared<Learnt>();
};

}  // namespace skald::postgres
