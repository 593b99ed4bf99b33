// A TCP proxy on 127.0.0.1 between a client and a server that breaks connections
// at places a test chooses: after so many bytes, at a certain message, or now.
//
//   FaultProxy proxy("127.0.0.1", 5432);
//   proxy.at_message("COMMIT", FaultProxy::Fault::lose_answer);
//   … the client's COMMIT reaches the server, its answer never comes back …
//
// Nothing here waits for time to pass: what is held stays held until release().
// One thread of its own moves the bytes; all functions may be called from any.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <list>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

namespace skald::test {

class FaultProxy {
 public:
  enum class Direction { to_server, to_client };
  enum class Fault {
    lose_answer,  // the server gets it; its answer is dropped and the connection cut
    swallow,      // the server never gets it; the connection is cut
  };

  // Throws std::runtime_error where it cannot listen. The server is connected to
  // once per client, and need not be there before.
  FaultProxy(std::string host, int port);
  ~FaultProxy();
  FaultProxy(const FaultProxy&) = delete;
  FaultProxy& operator=(const FaultProxy&) = delete;

  int port() const { return port_; }
  // A postgresql:// URL that leads through the proxy to `url`'s database.
  std::string postgres_url(const std::string& url) const;

  // Lets `bytes` more through in that direction, over all connections, then cuts
  // the one that wanted more. Once; a later call replaces an unused one.
  void cut_after(Direction direction, std::uint64_t bytes);
  // At the next message of a client that contains `bytes`. Once.
  void at_message(std::string bytes, Fault fault);
  // Cuts all connections now, and returns when that has happened.
  void cut_all();

  // Keeps what flows in that direction until release(); nothing is lost.
  void hold(Direction direction);
  void release(Direction direction);
  // Returns once something is held back in that direction.
  void wait_for_held(Direction direction);

  // New connections are closed at once, until they are allowed again.
  void refuse(bool refused);

  // Forgets faults that have not struck; holds and refusals end.
  void forgive();

  std::uint64_t passed(Direction direction) const;  // bytes so far
  int round_trips() const;                          // times a client spoke after its server, so far
  int connections() const;                          // accepted so far, refused ones too
  int cuts() const;                                 // connections that a fault has cut

 private:
  struct Lane {
    int from = -1, to = -1;
    std::string waiting;  // read from `from`, not written to `to` yet
  };
  struct Link {
    int client = -1, server = -1;
    Lane lanes[2];
    std::string seen;       // the end of what the client sent, for a match across reads
    bool answered = true;   // the server spoke last
    bool answer_lost = false;
    bool cut = false;       // ends once what was let through is written
  };
  struct AtMessage {
    std::string bytes;
    Fault fault;
  };

  void run();
  void accept_one();
  bool read(Link& link, Direction direction);
  void pass(Link& link, Direction direction, std::string_view data);
  bool match(Link& link, std::string_view data);
  void write(Link& link, Direction direction);
  void close(Link& link);
  void wake();

  const std::string host_;
  const int server_port_;
  int port_ = 0;
  int listener_ = -1;
  int waker_ = -1;  // an eventfd

  mutable std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::list<Link> links_;
  std::optional<std::uint64_t> left_[2];  // until the cut
  std::optional<AtMessage> at_message_;
  bool held_[2] = {false, false};
  bool refused_ = false;
  bool cutting_all_ = false;
  bool stopping_ = false;
  std::uint64_t passed_[2] = {0, 0};
  int round_trips_ = 0;
  int connections_ = 0;
  int cuts_ = 0;

  std::thread thread_;
};

}  // namespace skald::test
