// Announcements to other processes, on a connection of their own: NOTIFY inside
// of business transactions would serialise all commits. Thread safe.
#pragma once

#include <array>
#include <bitset>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "skald/database.h"
#include "store/postgres/connection.h"
#include "store/tables/worker.h"

namespace skald::postgres {

// All programs that share their tables speak through one channel, and nobody else: it is named by
// the schema that the session works in, however that was set.
#define SKALD_CHANNEL "'skald_' || hashtextextended(COALESCE(current_schema(), ''), 0)"
inline constexpr std::string_view kNotify = "SELECT pg_notify(" SKALD_CHANNEL ", $1)";
// And, as one more, that workers have come or gone.
using Partitions = std::bitset<tables::worker::kChanged + 1>;

// "3,17" and back; what is no partition is left out.
std::string write_partitions(const Partitions& partitions);
Partitions read_partitions(std::string_view text);
std::vector<int> list_of(const Partitions& partitions);

class Announcer {
 public:
  Announcer(Env env, ConnectSettings settings);

  void set_waker(std::function<void()> waker);
  // A lone announcement is sent at once and its answer not waited for; one of many
  // is noted, for the flush that the waker asks for.
  void announce(std::span<const int> partitions);
  // The payload for whoever is about to commit, if these are news of a lone one: sent
  // behind its COMMIT they cost no wake-up of another session. Empty: announce() them.
  std::string claim_alone(std::span<const int> partitions);
  // Sends all that was noted as one notification. False: nothing was noted.
  // Throws Unavailable and keeps them noted.
  bool flush();

 private:
  static constexpr Duration kLoneAfter = 2ms;
  // So many within this time, and none of them is a lone one: notifications are
  // transactions, and each lets others look.
  static constexpr std::size_t kMany = 8;
  static constexpr Duration kManyWithin = 16ms;

  bool is_one_of_many();
  bool send_alone();
  bool is_alone() const { return !sent_ || env_.clock.steady() - *sent_ >= kLoneAfter; }
  void note(const Partitions& partitions);
  Partitions take_noted();
  void add_notification(const Partitions& partitions);

  Env env_;
  ConnectSettings settings_;
  std::function<void()> waker_;
  std::mutex noted_mutex_;
  Partitions noted_;
  std::array<Instant, kMany> asked_{};       // the last times, in a ring; under noted_mutex_, too
  std::size_t oldest_ = 0;
  std::mutex sending_mutex_;                 // guards what follows
  std::optional<Instant> sent_;
  std::unique_ptr<Connection> connection_;   // opened by the first flush
};

}  // namespace skald::postgres
