// The real program, started by a test: its server on a free port with data of its
// own, or one command to its end.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "skald/json.h"

namespace skald::test {

struct HttpAnswer {
  int status = 0;
  std::string head;  // status line and headers
  std::string body;
  boost::json::value json() const { return json::parse(body); }
  bool is_problem() const;  // problem+json with a code
};
// Over a connection of its own. `headers` are whole lines. std::runtime_error where no
// answer comes.
HttpAnswer http_request(std::uint16_t port, const std::string& method, const std::string& target,
                        const std::string& body = "", const std::vector<std::string>& headers = {},
                        int patience_seconds = 20);

// `skald serve` until it is stopped, or killed by the destructor.
class SkaldServer {
 public:
  using Variables = std::map<std::string, std::string>;

  // Returns once it serves. std::runtime_error with its log where it does not.
  explicit SkaldServer(std::vector<std::string> arguments, Variables variables = {});
  ~SkaldServer();
  SkaldServer(const SkaldServer&) = delete;
  SkaldServer& operator=(const SkaldServer&) = delete;

  std::uint16_t port() const { return port_; }
  pid_t pid() const { return pid_; }

  HttpAnswer request(const std::string& method, const std::string& target, const std::string& body = "",
                     const std::vector<std::string>& headers = {}) const {
    return http_request(port_, method, target, body, headers);
  }

  // SIGTERM, and the exit status.
  int stop();
  void kill_hard();  // SIGKILL, and it is gone
  // What it wrote to stderr so far; complete after stop().
  const std::string& log();
  int log_descriptor() const { return errors_; }  // readable where log() has more

 private:
  bool read_log();
  int wait();

  pid_t pid_ = -1;
  int errors_ = -1;
  std::uint16_t port_ = 0;
  std::string log_;
};

struct CommandResult {
  int status = 0;
  std::string out, err;
};
// `beside`: a server whose log is taken meanwhile. One that nobody reads fills up, and then
// the server waits.
CommandResult run_skald(const std::vector<std::string>& arguments, const SkaldServer::Variables& variables = {},
                        SkaldServer* beside = nullptr);

}  // namespace skald::test
