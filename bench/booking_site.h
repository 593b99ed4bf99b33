// The booking system as people run it: `skald serve` in one process on SQLite, or the cluster of
// tools/cluster.sh: four processes, three PostgreSQL databases, NATS.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "child.h"

namespace bench {

// A tree of sources with what was built of it: its `skald`, and its tools/cluster.sh.
struct Version {
  std::string sources, program;
};
Version this_version();
Version version_in(const std::string& tree);

class BookingSite {
 public:
  enum class Kind { embedded, distributed };

  // Ready when it returns; throws where it does not become so.
  explicit BookingSite(Kind kind, Version version = this_version());
  ~BookingSite();  // stops it and wipes its data
  BookingSite(const BookingSite&) = delete;
  BookingSite& operator=(const BookingSite&) = delete;

  struct Process {
    std::string name;
    pid_t pid;
  };
  // Of PostgreSQL the first one, of which the others are children.
  const std::vector<Process>& processes() const { return processes_; }
  // How a command of `skald` is told where it is.
  const std::vector<std::string>& address() const { return address_; }
  // The URL of a service's database; none where it is embedded.
  std::string database(const std::string& service) const;
  bool is_distributed() const { return kind_ == Kind::distributed; }
  // Where HTTP is answered, on this machine.
  std::uint16_t port() const { return port_; }

 private:
  void start_embedded();
  void start_cluster();

  const Kind kind_;
  const Version version_;
  std::string folder_;
  std::unique_ptr<Child> server_;  // embedded
  std::vector<Process> processes_;
  std::vector<std::string> address_;
  std::uint16_t port_ = 0;
};

}  // namespace bench
