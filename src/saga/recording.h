// What a saga's transactions add to the history that the checker reads
// (skald/checker.h). Nothing where none is kept.
#pragma once

#include "saga/instance.h"
#include "skald/row_watch.h"

namespace skald::saga {

// While it lives, what the transaction reads and writes is done by this step.
class Recording final : public RowWatch {
 public:
  Recording(Transaction& tx, Instance& saga, const Next& what);
  ~Recording() override;
  Recording(const Recording&) = delete;
  Recording& operator=(const Recording&) = delete;
  void note(const RowAccess& access) override;

 private:
  Transaction& tx_;
  Instance& saga_;
  const Next& what_;
};

void record_begin(Instance& saga);
// A step, or its undo, is done.
void record_done(Instance& saga, const Next& what, int element);
// What counts as done since `known` entries of the progress did, because it may have happened.
void record_assumed(Instance& saga, std::size_t known);
void record_lock(Instance& saga, checker::Kind kind, const tables::semantic_lock::Row& row);
void record_finish(Instance& saga, checker::Outcome outcome);

// The reads behind `first`.
std::vector<checker::Operation> reads_since(const Instance& saga, std::size_t first);

// Writes them down, as the last statement of the transaction.
void store_recorded(Transaction& tx, Instance& saga);

}  // namespace skald::saga
