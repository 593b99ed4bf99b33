// The row that two sagas of the lab work on, and what they can do to it. Every action
// is a transaction of its own and a line of the timeline.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "order/lab.h"
#include "order/lab_sagas.h"
#include "order/shop.h"
#include "skald/checker.h"
#include "skald/distributed_lock.h"
#include "skald/version_file.h"

namespace order {

enum class Exclusion { semantic, distributed };

class LabBench final : private skald::RowWatch {
 public:
  LabBench(const Shop& shop, std::int64_t quantity);
  ~LabBench() override;
  LabBench(const LabBench&) = delete;
  LabBench& operator=(const LabBench&) = delete;

  struct Seen {
    std::int64_t quantity = 0, version = 0;
  };
  // A saga that goes back to a step takes it again: the last reads of a step count.
  Seen read(const std::string& saga, const std::string& note, const std::string& step = "look");
  // What a remembered value leads to: whoever wrote in between is forgotten.
  void write(const std::string& saga, std::int64_t quantity, const std::string& note);
  // Relative and guarded; false: not enough.
  bool take(const std::string& saga, std::int64_t amount, const std::string& note);
  void give(const std::string& saga, std::int64_t amount, const std::string& note);
  // Where the version is still the one that was seen; false: stale.
  bool write_if_unchanged(const std::string& saga, std::int64_t seen_version, std::int64_t quantity,
                          const std::string& note);
  // False: the other saga holds it, and this one waits.
  bool enter(const std::string& saga, Exclusion how);
  // The same where nobody else is inside: Corrupt (LOCK_NOT_GRANTED) where it has to wait.
  void hold(const std::string& saga, Exclusion how);
  void leave(const std::string& saga, Exclusion how);
  // One line of the version file, and the value that its lines up to `seq` give.
  std::int64_t append(const std::string& saga, std::int64_t amount);
  std::int64_t value_at(const std::string& saga, std::int64_t seq, const std::string& note);
  void say(const std::string& saga, const std::string& step, const std::string& note);

  std::int64_t quantity() const;
  std::vector<LabLine> timeline;
  // What the checker says, after both sagas have ended.
  std::vector<std::string> findings() const;

 private:
  void note(const skald::RowAccess& access) override;
  // One transaction of `saga`, with what it reads and writes in the history.
  void act(const std::string& saga, const std::string& step, const std::function<void(skald::Transaction&)>& body);
  void record(skald::checker::Kind kind, const std::string& saga, const std::string& step);
  void record_lock(skald::checker::Kind kind, const std::string& saga);

  skald::Database& db_;
  const std::string id_;
  const std::int64_t initial_;
  LabSagas sagas_;
  skald::DistributedLock lock_;
  std::optional<skald::Permit> permit_;
  std::vector<skald::checker::Operation> history_;
  std::string acting_saga_, acting_step_;
  bool undoing_ = false;
};

}  // namespace order
