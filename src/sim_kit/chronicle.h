// What each commit stores about sagas, in words: found by comparing their rows with
// what was committed before.
#pragma once

#include <map>
#include <string>

#include "sim_kit/stage.h"

namespace skald::sim::kit {

class Chronicle {
 public:
  explicit Chronicle(const Stage& stage) : stage_(stage) {}

  // Of the open transaction; empty: it changes nothing about any saga.
  std::string changes(Transaction& tx);
  // That transaction is durable.
  void committed() { known_ = seen_; }

 private:
  struct Seen {
    std::string owner, progress;
    std::size_t log = 0;
    bool ended = false, parked = false;
  };
  std::string changes_of(const tables::saga::Row& row, const Seen* before) const;

  const Stage& stage_;
  std::map<std::string, Seen> known_, seen_;
};

}  // namespace skald::sim::kit
