#include "runtime/worker_views.h"

#include "store/tables/worker.h"

namespace skald::runtime {

std::vector<WorkerView> workers_of(Transaction& tx) {
  std::vector<WorkerView> out;
  const Rows counts = tx.query("SELECT owner, COUNT(*) FROM skald_partition WHERE owner IS NOT NULL GROUP BY owner");
  for (const auto& worker : tables::worker::all(tx)) {
    WorkerView view{worker.id, worker.host, worker.pid, worker.beat_at, 0};
    if (tx.on(Dialect::sqlite)) view.heartbeat_at = tx.now();  // the one process that can answer is the worker
    for (std::size_t i = 0; i < counts.size(); ++i)
      if (counts.get<std::string_view>(i, 0) == worker.id) view.running = counts.get<std::int64_t>(i, 1);
    out.push_back(std::move(view));
  }
  return out;
}

}  // namespace skald::runtime
