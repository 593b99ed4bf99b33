#include <fmt/format.h>

#include <array>

#include "isolation/checker/analyses.h"

namespace skald::checker {
namespace {

constexpr std::size_t kNamedMax = 8;  // of the sagas that one undo has hurt

// What a saga knows of a row: the write that it saw or made, and its own effective writes by then.
struct Known {
  Index entry = kNone;          // the read or write that it knows it from; none: it knows nothing
  Index write = kNone;
  Index own = 0;
};

class AccessCheck {
 public:
  AccessCheck(History& history, Findings& findings)
      : history_(history),
        findings_(findings),
        rows_(history.rows),
        accesses_(history.locked.size()),
        values_(history.writes.size()),
        read_before_(history.entries.size(), kNone) {}

  void run() {
    for (Index at = 0; at < history_.entries.size(); ++at) {
      const Kind kind = history_.operation(at).kind;
      if (kind == Kind::read && history_.entries[at].seen != kUnknown) read(at);
      else if (is_write(kind)) write(at);
      else if (is_undo(kind)) undo(at);
    }
  }

 private:
  // What others may still undo of the row's value, oldest first: a list of accesses.
  struct RowState {
    Index last_dirty = kNone;
    Index standing = kNone, standing_absolute = kNone;  // the latest write
    Index highest = kNone;      // the write with the highest version
  };
  struct AccessState {
    Known base;                 // what its next absolute write is based on
    Known view;                 // the same without the reads that were done again
    Index own = 0;              // effective writes so far
    Index last_read = kNone;
    Index last_own = kNone;     // the latest of them
    Index contribution = kNone; // its latest write that will be undone, while it is in the row's list
    Index dirty_before = kNone, dirty_after = kNone;
  };
  struct Value {
    std::array<Index, 2> dirty{kNone, kNone};  // writes of two sagas in this value that will be undone
    Index based_on = kUnknown;                 // of an absolute write
    Index standing_before = kNone, absolute_before = kNone;
    Index own_before = kNone;                  // of an effective write: the saga's last one
    Index contribution_before = kNone;         // of one that will be undone: the same
    bool covers = false;                       // is absolute, or the contribution before is
  };

  Index effective_between(Index from, Index to) const {
    return history_.effective_count(to) - history_.effective_count(from);
  }

  Index number(Index write) const { return write == kNone ? 0 : history_.writes[write].number; }

  // The latest effective write of another saga at or before `write`, back to `from`.
  Index foreign(Index write, Index from, Index saga) const {
    for (; write != kNone && write != from; write = history_.writes[write].before)
      if (history_.entry_of(write).saga != saga && history_.effective(write)) return write;
    return kNone;
  }

  // The saga's reads of the row so far are explained by a finding.
  void outdate_reads(AccessState& access) {
    for (Index at = access.last_read; at != kNone; at = read_before_[at]) history_.entries[at].outdated = true;
    access.last_read = kNone;
  }

  void read(Index at) {
    Entry& entry = history_.entries[at];
    AccessState& access = accesses_[entry.access];
    if (!entry.superseded) {
      if (entry.seen != kNone) check_dirty(at, entry);
      if (access.view.entry != kNone && !history_.sagas[entry.saga].compensated) check_repeatable(at, entry, access);
      access.view = {at, entry.seen, access.own};
    }
    access.base = {at, entry.seen, access.own};
    read_before_[at] = std::exchange(access.last_read, at);
  }

  void check_dirty(Index at, const Entry& entry) {
    for (const Index dirty : values_[entry.seen].dirty) {
      if (dirty == kNone || history_.entry_of(dirty).saga == entry.saga) continue;
      const Write& write = history_.writes[dirty];
      if (!write.undone_on_row && write.undone_at < at) continue;
      findings_.add(Anomaly::dirty_read, {at, write.entry, write.undone_at},
                    {findings_.edge(EdgeKind::wr, write.entry, at), findings_.edge(EdgeKind::undo, at, write.entry)},
                    fmt::format("{} read {} with what {} had written, which was undone afterwards", findings_.who(at),
                                findings_.row(at), findings_.who(write.entry)));
      return;
    }
  }

  void check_repeatable(Index at, Entry& entry, AccessState& access) {
    const Known& view = access.view;
    if (number(entry.seen) < number(view.write)) {
      if (effective_between(entry.seen, view.write) == 0) return;
      findings_.add(Anomaly::order_inversion, {at, view.entry}, {},
                    fmt::format("{} read an older version of {} than it had seen before in step '{}'",
                                findings_.who(at), findings_.row(at), history_.operation(view.entry).step));
      entry.outdated = true;
      return;
    }
    if (effective_between(view.write, entry.seen) <= access.own - view.own) return;
    const Index other = foreign(entry.seen, view.write, entry.saga);
    if (other == kNone) return;
    const Index written = history_.writes[other].entry;
    const bool read_before = history_.operation(view.entry).kind == Kind::read;
    findings_.add(Anomaly::non_repeatable_read, {at, view.entry, written},
                  {findings_.edge(read_before ? EdgeKind::rw : EdgeKind::ww, view.entry, written),
                   findings_.edge(EdgeKind::wr, written, at)},
                  fmt::format("{} read {} and found it changed since step '{}': {} had written it", findings_.who(at),
                              findings_.row(at), history_.operation(view.entry).step, findings_.who(written)));
    if (read_before) outdate_reads(access);
    else entry.outdated = true;
  }

  void write(Index at) {
    const Entry& entry = history_.entries[at];
    AccessState& access = accesses_[entry.access];
    RowState& row = rows_[entry.row];
    const bool absolute = entry.operation->kind == Kind::write;
    Value& value = values_[entry.write];
    if (absolute && check_update(at, entry, access)) note_version(entry, row);
    else check_version(at, entry, row);
    if (history_.effective(entry.write)) {
      ++access.own;
      value.own_before = std::exchange(access.last_own, entry.write);
      if (absolute) forget_contributions(row);
    } else {
      contribute(entry, access, row, absolute);
    }
    note_dirty(at, entry.write, row);
    value.standing_before = std::exchange(row.standing, entry.write);
    if (absolute) {
      value.absolute_before = std::exchange(row.standing_absolute, entry.write);
      access.base = access.view = {at, entry.write, access.own};
    }
  }

  // Whether an update was lost by this write.
  bool check_update(Index at, const Entry& entry, AccessState& access) {
    const Index before = history_.writes[entry.write].before;
    Known base = access.base;
    if (entry.seen != kUnknown) base = {at, entry.seen, own_up_to(access, entry.seen)};
    if (base.entry == kNone) return false;
    values_[entry.write].based_on = base.write;
    // Its own write before is nothing that it has read: that is a circle of writes.
    if (entry.seen == kUnknown && history_.operation(base.entry).kind != Kind::read) return false;
    if (number(base.write) >= number(before)) return false;
    if (effective_between(base.write, before) <= access.own - base.own) return false;
    const Index other = foreign(before, base.write, entry.saga);
    if (other == kNone) return false;
    const Index lost = history_.writes[other].entry;
    std::vector<Index> parts{at, lost};
    if (base.entry != at) parts.push_back(base.entry);
    outdate_reads(access);
    findings_.add(Anomaly::lost_update, parts,
                  {findings_.edge(EdgeKind::rw, at, lost), findings_.edge(EdgeKind::ww, lost, at)},
                  fmt::format("{} overwrote {} from an old value: what {} had written in between is lost",
                              findings_.who(at), findings_.row(at), findings_.who(lost)));
    return true;
  }

  // The own effective writes that the version a write says it is based on holds already.
  Index own_up_to(const AccessState& access, Index seen) const {
    Index own = access.own;
    for (Index write = access.last_own; write != kNone && number(write) > number(seen);
         write = values_[write].own_before)
      --own;
    return own;
  }

  void note_version(const Entry& entry, RowState& row) const {
    const auto version = entry.operation->version_written;
    if (!version) return;
    if (row.highest == kNone || *version > *history_.entry_of(row.highest).operation->version_written)
      row.highest = entry.write;
  }

  void check_version(Index at, const Entry& entry, RowState& row) {
    if (const auto version = entry.operation->version_written; version && row.highest != kNone) {
      const Index highest = history_.writes[row.highest].entry;
      const std::int64_t before = *history_.operation(highest).version_written;
      if (*version < before)
        findings_.add(Anomaly::order_inversion, {at, highest}, {},
                      fmt::format("{} committed version {} of {} after {} had committed version {}", findings_.who(at),
                                  *version, findings_.row(at), findings_.who(highest), before));
    }
    note_version(entry, row);
  }

  void contribute(const Entry& entry, AccessState& access, RowState& row, bool absolute) {
    if (absolute && access.contribution != kNone) unlink(entry.access, row);
    if (absolute || access.contribution == kNone) append(entry.access, row);
    Value& value = values_[entry.write];
    value.contribution_before = std::exchange(access.contribution, entry.write);
    value.covers = absolute || (value.contribution_before != kNone && values_[value.contribution_before].covers);
  }

  void forget_contributions(RowState& row) {
    while (row.last_dirty != kNone) {
      const Index access = row.last_dirty;
      unlink(access, row);
      accesses_[access].contribution = kNone;
    }
  }

  // Notes which of the contributions that will still be undone are in this value.
  void note_dirty(Index at, Index write, RowState& row) {
    auto& dirty = values_[write].dirty;
    std::size_t count = 0;
    for (Index one = row.last_dirty; one != kNone && count < dirty.size();) {
      const Index index = one;
      AccessState& access = accesses_[index];
      one = access.dirty_before;
      while (access.contribution != kNone && history_.writes[access.contribution].undone_at <= at)
        access.contribution = values_[access.contribution].contribution_before;
      if (access.contribution == kNone) {
        unlink(index, row);
        continue;
      }
      dirty[count++] = access.contribution;
      if (values_[access.contribution].covers) break;
    }
  }

  void append(Index access, RowState& row) {
    accesses_[access].dirty_before = row.last_dirty;
    accesses_[access].dirty_after = kNone;
    if (row.last_dirty != kNone) accesses_[row.last_dirty].dirty_after = access;
    row.last_dirty = access;
  }

  void unlink(Index index, RowState& row) {
    AccessState& access = accesses_[index];
    (access.dirty_after == kNone ? row.last_dirty : accesses_[access.dirty_after].dirty_before) = access.dirty_before;
    if (access.dirty_before != kNone) accesses_[access.dirty_before].dirty_after = access.dirty_after;
    access.dirty_before = access.dirty_after = kNone;
  }

  void undo(Index at) {
    const Entry& entry = history_.entries[at];
    RowState& row = rows_[entry.row];
    const Index first = history_.writes[entry.write].first_undone;
    if (first != kNone) check_undo(at, entry, first, row);
    check_version(at, entry, row);
    note_dirty(at, entry.write, row);
  }

  // An absolute undo destroys every write since; a relative one what an absolute write
  // without the undone part has made of the row.
  void check_undo(Index at, const Entry& entry, Index first, RowState& row) {
    const bool absolute = entry.operation->kind == Kind::undo_write;
    const Index limit = history_.writes[first].number;
    std::vector<Index> parts{at, history_.writes[first].entry};
    std::size_t looked = 0;
    Index* link = absolute ? &row.standing : &row.standing_absolute;
    while (*link != kNone && history_.writes[*link].number > limit && looked < kNamedMax) {
      Value& value = values_[*link];
      const Write& other = history_.writes[*link];
      Index* next = absolute ? &value.standing_before : &value.absolute_before;
      if (other.undone_at <= at) {
        *link = *next;  // it stands no more, for nobody
        continue;
      }
      const bool saw_it = !absolute && value.based_on < kUnknown && history_.writes[value.based_on].number >= limit;
      if (history_.entry_of(*link).saga != entry.saga) {
        ++looked;
        if (!saw_it) parts.push_back(other.entry);
      }
      link = next;
    }
    if (parts.size() > 2) report_undo(at, parts);
  }

  void report_undo(Index at, const std::vector<Index>& parts) {
    const Index hurt = parts[2];
    findings_.add(Anomaly::dirty_undo, parts,
                  {findings_.edge(EdgeKind::ww, parts[1], hurt), findings_.edge(EdgeKind::undo, hurt, at)},
                  fmt::format("{} undid its write of {} over what {} had written since", findings_.who(at),
                              findings_.row(at), findings_.who(hurt)));
  }

  History& history_;
  Findings& findings_;
  std::vector<RowState> rows_;
  std::vector<AccessState> accesses_;
  std::vector<Value> values_;       // by write
  std::vector<Index> read_before_;  // by entry: the same saga's read of the same row
};

}  // namespace

void check_accesses(History& history, Findings& findings) { AccessCheck(history, findings).run(); }

}  // namespace skald::checker
