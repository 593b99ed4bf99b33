// The four anomalies between two sagas on one resource.
#include "isolation/analyser_advice.h"
#include "isolation/analyser_outline.h"

namespace skald::analyser {
namespace {

// The name of what covers, or why nothing does.
using Cover = std::optional<std::string>;

// Other sagas' records have other keys.
bool own_record(const Spot& spot) { return spot.touch->guard == Guard::idempotency_key; }

bool checks_version(const Spot& spot) {
  return spot.touch->guard == Guard::reread || spot.touch->guard == Guard::optimistic;
}

// Whether somebody who checks the version notices this write.
bool raises_version(const Spot& write) {
  return write.touch->guard != Guard::none && write.touch->guard != Guard::row_lock;
}

bool locks_row(const Stage& stage, const std::string& resource) {
  for (const Touch& touch : stage.touches)
    if (touch.resource == resource && touch.guard == Guard::row_lock) return stage.local;
  return false;
}

Finding finding(Anomaly anomaly, const Spot& first, const Spot& second, const Cover& cover, bool only_when_split) {
  Finding out;
  out.anomaly = anomaly;
  out.resource = first.touch->resource;
  out.first = first.place();
  out.second = second.place();
  out.covered_by = cover;
  if (!cover) out.severity = only_when_split ? Severity::warning : Severity::error;
  return out;
}

Finding dirty_read(const Spot& read, const Spot& write) {
  Cover cover;
  if (excluded(*read.saga, read.stage, *write.saga, write.stage, read.touch->resource)) cover = kSemanticLock;
  else if (read.touch->guard == Guard::commutative || read.touch->guard == Guard::version_file)
    cover = name_of(read.touch->guard);
  else if (own_record(read) || own_record(write)) cover = name_of(Guard::idempotency_key);
  Finding out =
      finding(Anomaly::dirty_read, read, write, cover, write.saga->together(write.stage, write.where().undone_until));
  out.explanation =
      quoted(out.first) + " reads " + out.resource + " while " + quoted(out.second) + " can still undo what it wrote";
  if (!cover) out.advice = advice_on_dirty_read(read, write);
  return out;
}

// `basis`: where the saga last saw the row that it writes.
Cover cover_of_update(const Spot& basis, const Spot& write, const Spot& other) {
  const std::string& resource = write.touch->resource;
  if (excluded(*write.saga, basis.stage, *other.saga, other.stage, resource)) return kSemanticLock;
  switch (write.touch->guard) {
    case Guard::commutative:
    case Guard::version_file:
    case Guard::idempotency_key: return name_of(write.touch->guard);
    case Guard::reread:
    case Guard::optimistic:
      if (raises_version(other)) return name_of(write.touch->guard);
      break;
    case Guard::none:
    case Guard::row_lock: break;
  }
  if (basis.stage == write.stage && locks_row(write.where(), resource)) return name_of(Guard::row_lock);
  if (own_record(other)) return name_of(Guard::idempotency_key);
  return std::nullopt;
}

Finding lost_update(const Spot& basis, const Spot& write, const Spot& other) {
  const Cover cover = cover_of_update(basis, write, other);
  // What a transaction has written or locked stays locked until it ends.
  const bool locked = basis.touch->write || locks_row(basis.where(), write.touch->resource);
  const bool only_when_split = basis.stage < write.stage && locked && write.saga->together(basis.stage, write.stage);
  Finding out = finding(Anomaly::lost_update, write, other, cover, only_when_split);
  out.explanation = quoted(out.first) + " writes " + out.resource + " by what it saw in '" + basis.where().name +
                    "': what " + quoted(out.second) + " writes in between is lost";
  if (!cover) out.advice = advice_on_lost_update(basis, write, other);
  return out;
}

Finding non_repeatable_read(const Spot& basis, const Spot& again, const Spot& other) {
  Cover cover;
  const Guard guard = again.touch->guard;
  if (excluded(*again.saga, basis.stage, *other.saga, other.stage, again.touch->resource)) cover = kSemanticLock;
  else if (guard == Guard::commutative || guard == Guard::version_file ||
           (checks_version(again) && raises_version(other)))
    cover = name_of(guard);
  else if (own_record(other)) cover = name_of(Guard::idempotency_key);
  const bool locked = basis.touch->write || locks_row(basis.where(), again.touch->resource);
  Finding out = finding(Anomaly::non_repeatable_read, again, other, cover,
                        locked && again.saga->together(basis.stage, again.stage));
  out.explanation = quoted(out.first) + " reads " + out.resource + ", which it saw in '" + basis.where().name +
                    "' already, and finds what " + quoted(out.second) + " wrote in between";
  if (!cover) out.advice = advice_on_non_repeatable_read(basis, again, other);
  return out;
}

Finding dirty_undo(const Spot& write, const Spot& other) {
  Cover cover;
  const std::string& resource = write.touch->resource;
  const bool blind = other.touch->guard == Guard::none && !locks_row(other.where(), resource);
  if (excluded(*write.saga, write.stage, *other.saga, other.stage, resource)) cover = kSemanticLock;
  else if (write.touch->guard == Guard::version_file || own_record(write) ||
           (write.touch->guard == Guard::commutative && !blind))
    cover = name_of(write.touch->guard);
  else if (own_record(other)) cover = name_of(Guard::idempotency_key);
  Finding out =
      finding(Anomaly::dirty_undo, write, other, cover, write.saga->together(write.stage, write.where().undone_until));
  out.explanation = "the undo of " + quoted(out.first) + " comes over what " + quoted(out.second) + " wrote to " +
                    resource + " in between";
  if (!cover) out.advice = advice_on_dirty_undo(write, other);
  return out;
}

// Where the saga last saw the row before `spot`: read by the same step before it writes, or
// in an earlier one.
const Spot* basis_of(const std::vector<Spot>& own, const Spot& spot) {
  const Spot* out = nullptr;
  for (const Spot& each : own) {
    const bool same_step = each.stage == spot.stage && spot.touch->write && !each.touch->write;
    if (each.stage < spot.stage || same_step) out = &each;
  }
  return out;
}

}  // namespace

std::vector<Finding> find_anomalies(const Outline& a, const Outline& b, const std::string& resource) {
  std::vector<Finding> out;
  const auto own = spots_of(a, resource), others = spots_of(b, resource);
  for (const Spot& spot : own)
    for (const Spot& other : others) {
      if (!other.touch->write) continue;
      const Spot* basis = basis_of(own, spot);
      if (!spot.touch->write && other.where().exposed) out.push_back(dirty_read(spot, other));
      if (spot.touch->write && basis != nullptr) out.push_back(lost_update(*basis, spot, other));
      if (!spot.touch->write && basis != nullptr) out.push_back(non_repeatable_read(*basis, spot, other));
      if (spot.touch->write && spot.where().exposed) out.push_back(dirty_undo(spot, other));
    }
  return out;
}

}  // namespace skald::analyser
