// Several `skald serve` processes on one PostgreSQL database, all of which relay
// to one receiver. Thread safe.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "end_to_end/skald_process.h"
#include "support/http_receiver.h"
#include "support/test_database.h"

namespace skald::chaos {

class Site {
 public:
  explicit Site(std::size_t servers);

  std::size_t size() const { return slots_.size(); }
  std::uint16_t port(std::size_t server) const { return slots_[server]->port; }
  const std::string& database_url() const { return database_.url(); }
  test::HttpReceiver& receiver() { return receiver_; }

  void kill_and_restart(std::size_t server);
  pid_t pid(std::size_t server);
  void drain_logs();                       // a full pipe would stop a server
  // Asks any server that answers.
  test::HttpAnswer get(const std::string& target);

 private:
  struct Slot {
    std::mutex mutex;
    std::unique_ptr<test::SkaldServer> server;
    std::atomic<std::uint16_t> port{0};
    std::unique_ptr<test::TemporaryFolder> data;
  };
  void start(Slot& slot);

  test::ScratchPostgres database_;
  test::HttpReceiver receiver_;
  std::vector<std::unique_ptr<Slot>> slots_;
};

}  // namespace skald::chaos
