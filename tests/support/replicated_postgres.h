// A primary and its streaming standby, two servers of the test's own on this machine, which it kills, stops, promotes and
// puts back. Both end with the test, however that ends. One thread at a time.
#pragma once

#include <optional>
#include <string>

#include "support/cleanup_process.h"
#include "support/test_database.h"

namespace skald::test {

class ReplicatedPostgres {
 public:
  // synchronous: the primary answers a COMMIT once the standby has it on disk.
  enum class Commits { synchronous, asynchronous };

  // Throws std::runtime_error where they cannot be started.
  explicit ReplicatedPostgres(Commits commits);

  // As a program is given it: both hosts. A host that accepts and says nothing is given up after 2 s.
  std::string url(const std::string& database = "postgres") const;
  // Of the server that was the primary at first, and of the other.
  std::string first_url() const { return url_of(first_port_); }
  std::string second_url() const { return url_of(second_port_); }

  enum class Server { first, second };
  void kill(Server server) { signal(server, "KILL"); }  // all of its processes, at once
  void freeze(Server server) { signal(server, "STOP"); }
  void wake(Server server) { signal(server, "CONT"); }
  void start(Server server);  // one that was killed

  // Whoever was promoted last, and the other.
  Server primary() const { return primary_; }
  Server standby() const { return primary_ == Server::first ? Server::second : Server::first; }
  void promote();  // the standby; it is a primary when this returns
  // Puts an old primary back. Whatever is left of it is killed and its data are removed: it is a new standby by a copy
  // of the primary, which waits for it as before when this returns.
  void rejoin();

 private:
  std::string folder(Server server) const;
  static std::string url_of(const std::string& port) { return "postgresql://postgres@127.0.0.1:" + port + "/postgres"; }
  void signal(Server server, const std::string& name) { run("signal " + folder(server) + " " + name); }
  static std::string run(const std::string& words);
  std::string start_and_tell_port(const std::string& words);
  void wait_for_standby() const;
  std::string primary_url() const { return primary_ == Server::first ? first_url() : second_url(); }

  const Commits commits_;
  Server primary_ = Server::first;
  TemporaryFolder folder_;
  std::optional<CleanupProcess> cleanup_;
  std::string first_port_, second_port_;
};

}  // namespace skald::test
