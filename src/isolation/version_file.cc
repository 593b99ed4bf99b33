// skald_version_entry: the log. skald_version_head: one row per resource, whose lock
// orders its writers; `last_seq` is the highest number seen, `applied_seq` the one up
// to which all is applied.
#include "skald/version_file.h"

#include "env/seam.h"

namespace skald {
namespace {

constexpr std::int64_t kPage = 256;

void check_text(const VersionEntry& entry) {
  constexpr std::size_t longest = 200;
  if (entry.resource.empty() || entry.action.empty() || entry.resource.size() > longest ||
      entry.action.size() > longest || entry.saga_id.size() > longest)
    throw Invalid("BAD_VERSION", "a version needs a resource and an action, and no text of it may be longer than " +
                                     std::to_string(longest) + " bytes");
}

bool same_operation(const VersionEntry& one, const VersionEntry& other) {
  return one.saga_id == other.saga_id && one.action == other.action && one.amount == other.amount;
}

std::string named(std::string_view resource, std::int64_t seq) {
  return "version " + std::to_string(seq) + " of " + std::string(resource);
}

std::optional<VersionEntry> find(Transaction& tx, std::string_view resource, std::int64_t seq) {
  auto rows = tx.select<VersionEntry>("WHERE resource = $1 AND seq = $2", resource, seq);
  if (rows.empty()) return std::nullopt;
  return std::move(rows.front());
}

}  // namespace

std::int64_t VersionFile::append(Transaction& tx, std::string_view resource, std::string_view saga_id,
                                 std::string_view action, std::int64_t amount, VersionStatus status) const {
  VersionEntry entry{.resource = std::string(resource),
                     .saga_id = std::string(saga_id),
                     .action = std::string(action),
                     .amount = amount,
                     .status = status};
  check_text(entry);
  const Rows head = tx.query(
      "INSERT INTO skald_version_head (resource, last_seq, applied_seq) VALUES ($1, 1, 0) ON CONFLICT (resource) DO "
      "UPDATE SET last_seq = skald_version_head.last_seq + 1 RETURNING last_seq, applied_seq",
      resource);
  entry.seq = head.get<std::int64_t>(0, 0);
  const std::int64_t seq = entry.seq;
  store(tx, std::move(entry), {seq, head.get<std::int64_t>(0, 1)});
  return seq;
}

Arrival VersionFile::arrive(Transaction& tx, VersionEntry entry) const {
  check_text(entry);
  if (entry.seq < 1) throw Invalid("BAD_VERSION", "versions are numbered from 1: give the entry its number");
  const Rows head = tx.query(
      "INSERT INTO skald_version_head (resource, last_seq, applied_seq) VALUES ($1, $2, 0) ON CONFLICT (resource) DO "
      "UPDATE SET last_seq = CASE WHEN excluded.last_seq > skald_version_head.last_seq THEN excluded.last_seq ELSE "
      "skald_version_head.last_seq END RETURNING last_seq, applied_seq",
      entry.resource, entry.seq);
  if (const auto there = find(tx, entry.resource, entry.seq)) {
    if (same_operation(*there, entry)) return Arrival::repeated;
    throw Conflict("VERSION_TAKEN", named(entry.resource, entry.seq) + " is " + there->action + " " +
                                        std::to_string(there->amount) + " of saga '" + there->saga_id +
                                        "' already: number the new one otherwise");
  }
  return store(tx, std::move(entry), {head.get<std::int64_t>(0, 0), head.get<std::int64_t>(0, 1)});
}

// Under the head's lock. Applies it and what was waiting for it.
Arrival VersionFile::store(Transaction& tx, VersionEntry entry, Head head) const {
  entry.at = tx.now();
  entry.settled_at = entry.status == VersionStatus::PENDING ? Time{} : entry.at;
  tx.insert(entry);
  if (entry.seq != head.applied + 1 && seam::holds(seam::Rule::version_gap_waits)) return Arrival::kept;
  apply_(tx, entry);
  head.applied = entry.seq;
  if (head.last > head.applied) head.applied = apply_kept(tx, entry.resource, head.applied);
  tx.enqueue("UPDATE skald_version_head SET applied_seq = $2 WHERE resource = $1", entry.resource, head.applied);
  return Arrival::applied;
}

// As far as there is no gap.
std::int64_t VersionFile::apply_kept(Transaction& tx, std::string_view resource, std::int64_t applied) const {
  while (true) {
    const auto page = entries(tx, resource, applied + 1, kPage);
    for (const VersionEntry& entry : page) {
      if (entry.seq != applied + 1) return applied;
      apply_(tx, entry);
      applied = entry.seq;
    }
    if (page.empty()) return applied;
  }
}

void VersionFile::settle(Transaction& tx, std::string_view resource, std::int64_t seq, std::string_view saga_id,
                         VersionStatus status) const {
  if (status == VersionStatus::PENDING)
    throw Invalid("BAD_VERSION", "an entry is settled as COMPLETED or COMPENSATED, never back to PENDING");
  const auto settled = tx.execute(
      "UPDATE skald_version_entry SET status = $4, settled_at = $5 WHERE resource = $1 AND seq = $2 AND saga_id = $3 "
      "AND status = 'PENDING'",
      resource, seq, saga_id, status, tx.now());
  if (settled == 1) return;
  const auto there = find(tx, resource, seq);
  if (!there) throw NotFound("NO_VERSION", named(resource, seq) + " does not exist: append it first");
  if (there->saga_id != saga_id)
    throw Refused("INVALID_SAGA", named(resource, seq) + " belongs to saga '" + there->saga_id + "', not to '" +
                                      std::string(saga_id) + "', which may settle only its own");
  if (there->status != status)
    throw Conflict("VERSION_SETTLED", named(resource, seq) + " is " + std::string(enum_name(there->status)) +
                                          " already and cannot become " + std::string(enum_name(status)));
}

std::vector<VersionEntry> VersionFile::entries(Transaction& tx, std::string_view resource, std::int64_t from,
                                               std::int64_t count_max) const {
  return tx.select<VersionEntry>("WHERE resource = $1 AND seq >= $2 ORDER BY seq LIMIT $3", resource, from, count_max);
}

std::vector<VersionGap> VersionFile::gaps(Transaction& tx, std::string_view resource) const {
  const Rows rows = tx.query(
      "SELECT before + 1, seq - 1 FROM (SELECT seq, COALESCE(LAG(seq) OVER (ORDER BY seq), $2) AS before FROM "
      "skald_version_entry WHERE resource = $1 AND seq > $2) AS step WHERE seq > before + 1 ORDER BY seq LIMIT 100",
      resource, applied(tx, resource));
  std::vector<VersionGap> out;
  for (std::size_t i = 0; i < rows.size(); ++i)
    out.push_back({rows.get<std::int64_t>(i, 0), rows.get<std::int64_t>(i, 1)});
  return out;
}

std::int64_t VersionFile::applied(Transaction& tx, std::string_view resource) const {
  const Rows rows = tx.query("SELECT applied_seq FROM skald_version_head WHERE resource = $1", resource);
  return rows.empty() ? 0 : rows.get<std::int64_t>(0, 0);
}

void VersionFile::replay(Transaction& tx, std::string_view resource, std::int64_t from, const Visit& visit) const {
  const std::int64_t last = applied(tx, resource);
  for (std::int64_t next = from; next <= last;) {
    for (const VersionEntry& entry : entries(tx, resource, next, std::min(kPage, last - next + 1))) {
      if (entry.seq != next) break;
      visit(entry);
      ++next;
    }
    if (next <= last && !find(tx, resource, next))
      throw Corrupt("VERSION_HOLE", named(resource, next) + " was applied and is gone: restore it from a backup");
  }
}

}  // namespace skald
