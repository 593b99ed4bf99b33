#include "saga/lacking.h"

#include "env/seam.h"
#include "store/tables/shortage.h"

namespace skald::saga {

using seam::Rule;

Lack note_lack(Transaction& tx, Instance& saga, const Shortage& shortage) {
  Progress& progress = saga.progress;
  if (!progress.wait_until) progress.wait_until = tx.now() + shortage.limit;
  if (tx.now() >= *progress.wait_until) return Lack::over;
  std::optional<Lacking>& lacking = progress.lacking;
  if (!lacking || lacking->resource != shortage.resource || lacking->key != shortage.key) {
    tables::shortage::enter(tx, saga.row.id, shortage.resource, shortage.key);
    lacking = Lacking{shortage.resource, shortage.key, 0};
    return seam::holds(Rule::lack_said_first) ? Lack::look_again : Lack::wait;
  }
  const std::int64_t freed = seam::holds(Rule::freed_marked) ? tables::shortage::freed(tx, saga.row.id) : 0;
  const bool since_last_look = freed > lacking->freed;
  lacking->freed = freed;
  return since_last_look ? Lack::look_again : Lack::wait;
}

}  // namespace skald::saga
