// Hears announcements on a connection of its own, without ever waiting.
#pragma once

#include <libpq-fe.h>

#include <memory>

#include "skald/database.h"
#include "store/postgres/announcer.h"

namespace skald::postgres {

// Connects step by step inside of drain(). fd() is an epoll descriptor that stays
// the same across reconnects and becomes readable whenever drain() has something
// to do. While the server cannot be reached it does not: each drain() then starts
// one attempt, so whoever waits must also call it now and then (the slow poll). Once others
// have seen a new primary it goes there.
// One thread at a time.
class PostgresListener final : public Listener {
 public:
  PostgresListener(Env env, ConnectSettings settings);
  ~PostgresListener() override;

  int fd() const override { return watch_; }
  // After each LISTEN, the first one too, all partitions: what was announced
  // before it was not heard.
  Heard drain() override;

 private:
  enum class Stage { disconnected, connecting, subscribing, listening };
  struct Finish {
    void operator()(PGconn* connection) const { PQfinish(connection); }
  };

  void connect();
  void go_on_connecting();
  bool subscribed();
  void disconnect();
  void watch(std::uint32_t events);

  Env env_;
  ConnectSettings settings_;
  int watch_;
  int watched_ = -1;  // the socket in watch_; libpq may change it while it connects
  std::unique_ptr<PGconn, Finish> connection_;
  Stage stage_ = Stage::disconnected;
  Timeline timeline_ = 0;  // the newest known when it connected
  Instant connect_end_{};
};

}  // namespace skald::postgres
