// Announcements to other processes, on a connection of their own: NOTIFY inside
// of business transactions would serialise all commits. Thread safe.
#pragma once

#include <bitset>
#include <functional>
#include <memory>
#include <mutex>
#include <span>

#include "skald/database.h"
#include "store/postgres/connection.h"

namespace skald::postgres {

// The channel's name is fixed: all programs on one database speak through it.
inline constexpr char kChannel[] = "skald";
using Partitions = std::bitset<kPartitions>;

// "3,17" and back; what is no partition is left out.
std::string write_partitions(const Partitions& partitions);
Partitions read_partitions(std::string_view text);

class Announcer {
 public:
  explicit Announcer(const PostgresOptions& options);

  void set_waker(std::function<void()> waker);
  // Notes them and wakes; never blocks on the network.
  void announce(std::span<const int> partitions);
  // Sends all that was noted as one notification. False: nothing was noted.
  // Throws Unavailable and keeps them noted.
  bool flush();

 private:
  void send(const std::string& payload);

  ConnectSettings settings_;
  std::function<void()> waker_;
  std::mutex noted_mutex_;
  Partitions noted_;
  std::mutex sending_mutex_;                 // guards connection_
  std::unique_ptr<Connection> connection_;   // opened by the first flush
};

}  // namespace skald::postgres
