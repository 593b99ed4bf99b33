// A program that prints the address it listens on, as a child of this process.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "end_to_end/skald_process.h"

namespace skald::crash {

class ServedProcess {
 public:
  // Returns when it listens, or has ended before. Whichever thread starts it must
  // outlive it: the child ends with it.
  explicit ServedProcess(std::vector<std::string> words);
  ~ServedProcess();  // SIGKILL
  ServedProcess(const ServedProcess&) = delete;
  ServedProcess& operator=(const ServedProcess&) = delete;

  const std::string& url() const { return url_; }
  std::uint16_t port() const { return port_; }
  pid_t pid() const { return pid_; }
  bool ended();            // and reaped
  void kill_hard();        // SIGKILL, and it is gone
  void signal(int which) const;
  void stop();             // SIGTERM, and it is gone

  // None where it does not answer.
  std::optional<test::HttpAnswer> ask(const std::string& method, const std::string& target,
                                      const std::string& body = "", const std::vector<std::string>& headers = {},
                                      int patience_seconds = 20) const;
  // std::runtime_error where there is no answer, or another.
  std::string get(const std::string& target) const;
  template <class T>
  T get_as(const std::string& target) const {
    return from_json<T>(get(target));
  }
  void send(const std::string& method, const std::string& target, const std::string& body, int expected) const;

 private:
  void reap(int options);

  pid_t pid_ = -1;         // -1: gone
  std::string url_;
  std::uint16_t port_ = 0;
};

}  // namespace skald::crash
