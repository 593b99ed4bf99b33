// One `skald serve` on a port of its own that is killed and started again at once: nobody waits
// until it serves. Its log is a file. Not thread safe.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace skald::chaos {

class StormServer {
 public:
  using Variables = std::map<std::string, std::string>;

  // `program` is a skald. Data and log lie in `folder`, over all of its lives. The thread that makes it must outlive
  // it: the process ends with it.
  StormServer(std::string program, std::filesystem::path folder, std::vector<std::string> arguments,
              Variables variables);
  ~StormServer();
  StormServer(const StormServer&) = delete;
  StormServer& operator=(const StormServer&) = delete;

  std::uint16_t port() const { return port_; }
  // SIGKILL, and another life.
  void kill_and_restart();
  // SIGTERM, and it has ended; its exit status, or minus the signal that ended it.
  int end();
  // Another life of one that has ended, as this program.
  void start_as(const std::string& program);
  // The exit status of one that has ended by itself.
  std::optional<int> ended();
  // Starts it again where it has ended by itself; true: it had.
  bool revive();
  // The end of its log.
  std::string last_words() const;

 private:
  void start();
  int reap();

  const std::filesystem::path folder_;
  const std::uint16_t port_;
  std::vector<std::string> arguments_, environment_;
  pid_t pid_ = -1;
};

}  // namespace skald::chaos
