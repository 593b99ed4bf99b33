// NATS servers for tests: one of the test's own, which it may stop, start again
// and roll back; or the shared one that ./test starts.
#pragma once

#include <sys/types.h>

#include <string>

#include "support/nats_store.h"
#include "support/test_database.h"

namespace skald::test {

// The server that SKALD_TEST_NATS names (nats://…, with JetStream). Throws
// std::runtime_error with a sentence where the variable is not set.
std::string shared_nats_url();

// A word that no other test uses, for topics on the shared server.
std::string unused_topic();

class NatsServer {
 public:
  // Starts with JetStream; `settings` is put into its configuration file. Without a port it takes one that is free.
  explicit NatsServer(std::string settings = {}, int port = -1);
  ~NatsServer();
  NatsServer(const NatsServer&) = delete;
  NatsServer& operator=(const NatsServer&) = delete;

  int port() const { return port_; }
  std::string url() const { return "nats://127.0.0.1:" + std::to_string(port_); }
  std::filesystem::path folder() const { return folder_.path(); }

  bool runs() const { return pid_ >= 0; }
  void stop();          // kill -9
  void stop_cleanly();  // positions of consumers, which it writes late, are written
  void start();         // on the same port; returns when it takes connections
  void restart() { stop(), start(); }
  void freeze() const;  // SIGSTOP
  void wake() const;
  void wipe() const;    // one that is stopped: all of its files

  // Its files, to be touched while it is stopped.
  NatsStore store() const { return NatsStore(folder()); }

 private:
  void end(int signal);

  TemporaryFolder folder_;
  std::string settings_;
  pid_t pid_ = -1;
  int log_ = -1;  // the reading end of the server's log
  int port_;
};

}  // namespace skald::test
