// Version file: every operation on a resource as one line of a numbered log, applied
// in the order of its numbers, whatever order it arrives in.
//
//   VersionFile stock([](Transaction& tx, const VersionEntry& entry) { … change the product … });
//   stock.append(tx, "product/lamp", saga_id, "RESERVE", 3);              // draws the next number
//   stock.arrive(tx, {.resource = "product/lamp", .seq = 7, …});          // numbered elsewhere
//   stock.settle(tx, "product/lamp", 7, saga_id, VersionStatus::COMPLETED);
//
// Entries are never changed but for their status, once, and never deleted: they are
// the audit trail, and replay() recomputes from them what the resource must be.
//
// Numbers are 1, 2, 3, … per resource. One drawn by append() leaves no hole when its
// transaction is rolled back, because writers of one resource wait for each other from
// there to their commit: append last.
//
// | what happens                                  | what the caller sees                    |
// | an entry comes before its predecessors        | Arrival::kept; applied once they are there; gaps() tells |
// | the same entry comes again                    | Arrival::repeated, nothing is done      |
// | another entry comes under a number in use     | Conflict VERSION_TAKEN                  |
// | `apply` throws                                | the same; the transaction is gone, entry and all |
// | a saga settles another saga's entry           | Refused INVALID_SAGA                    |
// | settled otherwise before                      | Conflict VERSION_SETTLED                |
// | no entry of that number                       | NotFound NO_VERSION                     |
// | a hole among applied entries                  | Corrupt VERSION_HOLE, from replay()     |
//
// Thread safety: immutable; the callback must be as well.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "skald/database.h"

namespace skald {

enum class VersionStatus { PENDING, COMPLETED, COMPENSATED };
BOOST_DESCRIBE_ENUM(VersionStatus, PENDING, COMPLETED, COMPENSATED)

struct VersionEntry {
  std::string resource;
  std::int64_t seq = 0;
  std::string saga_id;
  std::string action;              // RESERVE, CONFIRM, CANCEL, RESTOCK, …
  std::int64_t amount = 0;
  VersionStatus status = VersionStatus::PENDING;
  Time at{};                       // when it was written here
  Time settled_at{};               // 1970: not yet
};
BOOST_DESCRIBE_STRUCT(VersionEntry, (), (resource, seq, saga_id, action, amount, status, at, settled_at))

// Numbers that are missing, both ends included.
struct VersionGap {
  std::int64_t first = 0, last = 0;
  bool operator==(const VersionGap&) const = default;
};
BOOST_DESCRIBE_STRUCT(VersionGap, (), (first, last))

enum class Arrival { applied, kept, repeated };

class VersionFile {
 public:
  // Called once per entry in the order of `seq`, in the transaction that makes it ready.
  using Apply = std::function<void(Transaction&, const VersionEntry&)>;
  explicit VersionFile(Apply apply) : apply_(std::move(apply)) {}

  // The entry's number. It is applied at once unless numbers before it are missing.
  std::int64_t append(Transaction& tx, std::string_view resource, std::string_view saga_id, std::string_view action,
                      std::int64_t amount, VersionStatus status = VersionStatus::PENDING) const;
  Arrival arrive(Transaction& tx, VersionEntry entry) const;

  // PENDING to `status`; settled so before: nothing.
  void settle(Transaction& tx, std::string_view resource, std::int64_t seq, std::string_view saga_id,
              VersionStatus status) const;

  // The trail, from `from` on, kept entries too.
  std::vector<VersionEntry> entries(Transaction& tx, std::string_view resource, std::int64_t from = 1,
                                    std::int64_t count_max = 100) const;
  // The first hundred. While there is one, nothing behind it is applied.
  std::vector<VersionGap> gaps(Transaction& tx, std::string_view resource) const;
  // The number up to which all is applied; 0: nothing is.
  std::int64_t applied(Transaction& tx, std::string_view resource) const;

  // All that is applied, from `from` on, in order and in bounded memory.
  using Visit = std::function<void(const VersionEntry&)>;
  void replay(Transaction& tx, std::string_view resource, std::int64_t from, const Visit& visit) const;

 private:
  struct Head {
    std::int64_t last = 0, applied = 0;
  };
  Arrival store(Transaction& tx, VersionEntry entry, Head head) const;
  std::int64_t apply_kept(Transaction& tx, std::string_view resource, std::int64_t applied) const;

  Apply apply_;
};

template <>
struct Table<VersionEntry> {
  static constexpr std::string_view name = "skald_version_entry", key = "seq";
};

}  // namespace skald
