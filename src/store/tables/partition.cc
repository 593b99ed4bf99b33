#include "store/tables/partition.h"

#include "env/seam.h"

namespace skald::tables::partition {

std::vector<int> ids_in(std::uint64_t bits) {
  std::vector<int> out;
  for (int i = 0; i < kPartitions; ++i)
    if ((bits >> i & 1) != 0) out.push_back(i);
  return out;
}

std::vector<Ownership> all(Transaction& tx) {
  const Rows rows = tx.query("SELECT id, owner, fence FROM skald_partition ORDER BY id");
  std::vector<Ownership> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back(
        {rows.get<int>(i, 0), rows.get<std::optional<std::string>>(i, 1).value_or(""), rows.get<std::int64_t>(i, 2)});
  return out;
}

std::optional<std::int64_t> take(Transaction& tx, const Ownership& seen, std::string_view worker) {
  const int step = seam::holds(seam::Rule::fence_raised) ? 1 : 0;
  const Rows rows = tx.query(
      "UPDATE skald_partition SET owner = $2, fence = fence + $4 WHERE id = $1 AND fence = $3 AND COALESCE(owner, '') "
      "= $5 RETURNING fence",
      seen.id, worker, seen.fence, step, seen.owner);
  if (rows.empty()) return std::nullopt;
  return rows.get<std::int64_t>(0, 0);
}

void release(Transaction& tx, const Ownership& owned) {
  tx.enqueue("UPDATE skald_partition SET owner = NULL WHERE id = $1 AND fence = $2 AND owner = $3", owned.id,
             owned.fence, owned.owner);
}

void release_all(Transaction& tx, std::string_view worker) {
  tx.enqueue("UPDATE skald_partition SET owner = NULL WHERE owner = $1", worker);
}

std::vector<std::int64_t> hold_all(Transaction& tx, std::string_view worker) {
  constexpr std::string_view looked_at = "SELECT id FROM skald_partition WHERE owner = $1 ORDER BY id";
  constexpr std::string_view locked = "SELECT id FROM skald_partition WHERE owner = $1 ORDER BY id FOR UPDATE";
  const Rows rows = tx.query(tx.on(Dialect::postgres) ? locked : looked_at, worker);
  std::vector<std::int64_t> out;
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<std::int64_t>(i, 0));
  return out;
}

std::vector<int> check(Transaction& tx, std::string_view worker, std::span<const Ownership> owned) {
  std::vector<int> out;
  if (!seam::holds(seam::Rule::fence_checked)) {
    for (const Ownership& o : owned) out.push_back(o.id);
    return out;
  }
  if (tx.on(Dialect::sqlite)) {
    for (const Ownership& o : owned)
      if (!tx.query("SELECT 1 FROM skald_partition WHERE id = $1 AND owner = $2 AND fence = $3", o.id, worker, o.fence)
               .empty())
        out.push_back(o.id);
    return out;
  }
  std::vector<std::int64_t> ids, fences;
  for (const Ownership& o : owned) {
    ids.push_back(o.id);
    fences.push_back(o.fence);
  }
  const Rows rows = tx.query(
      "SELECT p.id FROM skald_partition p JOIN unnest($1::bigint[], $2::bigint[]) AS w(id, fence) ON w.id = p.id "
      "WHERE p.owner = $3 AND p.fence = w.fence ORDER BY p.id FOR SHARE OF p",
      ids, fences, worker);
  for (std::size_t i = 0; i < rows.size(); ++i) out.push_back(rows.get<int>(i, 0));
  return out;
}

}  // namespace skald::tables::partition
