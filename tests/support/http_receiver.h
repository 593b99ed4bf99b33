// A real HTTP/1.1 server on 127.0.0.1 for tests: it records what arrives and
// behaves as it is told, badly if need be.
//
//   HttpReceiver receiver;
//   receiver.next({.status = 503});          // the next request fails,
//   bus.send(...)                            // all others get 200
//   receiver.wait_for_requests(1);
//
// All functions are thread safe. It runs threads of its own, one per connection;
// the destructor breaks everything off and joins them.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace skald::test {

// Holds answers back until it is opened. Stays open.
class Gate {
 public:
  void open();
  void wait();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool open_ = false;
};

// A port of 127.0.0.1 that refuses connections. Nobody else is given it meanwhile, but a receiver may be told to listen
// there.
class RefusingPort {
 public:
  RefusingPort();
  ~RefusingPort();
  RefusingPort(const RefusingPort&) = delete;
  RefusingPort& operator=(const RefusingPort&) = delete;

  int number() const { return number_; }

 private:
  int socket_ = -1;
  int number_ = 0;
};

class HttpReceiver {
 public:
  struct Request {
    std::string method, target;
    std::map<std::string, std::string> headers;  // by lower-case name
    std::string body;
    int connection = 0;  // counts from 1: equal numbers came over one connection
  };

  enum class Manner {
    answer,
    hang,  // reads the request, never answers
    close,  // closes without an answer
    close_mid_answer,  // closes after half of the body
    endless,  // sends the body again and again, without end
    garbage,  // something that is not HTTP
  };
  struct Behaviour {
    int status = 200;
    std::vector<std::string> headers = {};  // whole lines: "Retry-After: 5"
    std::string body = {};
    Manner manner = Manner::answer;
    std::shared_ptr<Gate> gate = {};  // waited for before anything is sent
    std::chrono::milliseconds latency{0};  // and then so long
  };

  // Binds 127.0.0.1, by default to a free port.
  explicit HttpReceiver(int port = 0);
  ~HttpReceiver();
  HttpReceiver(const HttpReceiver&) = delete;
  HttpReceiver& operator=(const HttpReceiver&) = delete;

  int port() const { return port_; }
  std::string url(const std::string& path = "/hook") const;

  // For one request, in the order of arrival; several queue up.
  void next(Behaviour behaviour);
  // For every request that no next() is left for.
  void always(Behaviour behaviour);

  std::vector<Request> requests() const;
  int connections() const;
  // Until that many requests have arrived in all.
  void wait_for_requests(std::size_t count);

 private:
  void accept_all();
  void serve(int socket, int connection);
  void hold_back(const Behaviour& behaviour);
  bool answer(int socket, const Behaviour& behaviour);  // false: the connection ends
  Behaviour record(Request request);

  mutable std::mutex mutex_;
  std::condition_variable arrived_, stopped_;
  std::deque<Behaviour> next_;
  Behaviour always_;
  std::vector<Request> requests_;
  std::vector<std::shared_ptr<Gate>> gates_;
  std::vector<int> sockets_;  // open ones, for the destructor to break off
  std::list<std::thread> threads_;
  int connections_ = 0;
  bool stopping_ = false;
  int listener_ = -1;
  int port_ = 0;
  std::thread acceptor_;
};

}  // namespace skald::test
