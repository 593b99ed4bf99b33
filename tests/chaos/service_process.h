// One `skald serve` on a port of its own that is killed, stopped and started again: nobody waits
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

class ServiceProcess {
 public:
  using Variables = std::map<std::string, std::string>;

  // `program` is a skald. Data and log lie in `folder`, over all of its lives. The thread that makes it must outlive
  // it: the process ends with it.
  ServiceProcess(std::string program, std::filesystem::path folder, std::vector<std::string> arguments,
                 Variables variables);
  ~ServiceProcess();
  ServiceProcess(const ServiceProcess&) = delete;
  ServiceProcess& operator=(const ServiceProcess&) = delete;

  std::uint16_t port() const { return port_; }
  const std::filesystem::path& folder() const { return folder_; }
  bool runs() const { return pid_ >= 0; }

  void kill();  // SIGKILL
  void start();
  // Another life of one that has ended, as this program.
  void start_as(const std::string& program);
  void kill_and_restart();
  void freeze();  // SIGSTOP
  void wake();
  // SIGTERM, and it has ended; its exit status, or minus the signal that ended it.
  int end();
  // The same of one that has ended by itself.
  std::optional<int> ended();
  // Starts it again where it has ended by itself, and tells how that was (as waitpid() does).
  std::optional<int> revive();
  // The end of its log.
  std::string last_words() const;

 private:
  void signal(int number) const;
  int reap();

  const std::filesystem::path folder_;
  const std::uint16_t port_;
  std::vector<std::string> arguments_, environment_;
  pid_t pid_ = -1;
};

}  // namespace skald::chaos
