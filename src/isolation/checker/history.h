// A history made ready for analysis: names become numbers, each row's writes a chain,
// each write knows what undid it and each read which write it saw. Built in one go, near
// linear in time and memory; holds pointers into the operations it was built from.
#pragma once

#include <span>
#include <vector>

#include "skald/checker.h"

namespace skald::checker {

using Index = std::uint32_t;
inline constexpr Index kNone = UINT32_MAX;         // no such thing; of a read: the row as it was before the history
inline constexpr Index kUnknown = UINT32_MAX - 1;  // a read of a version that nobody has recorded

inline bool is_write(Kind kind) { return kind == Kind::write || kind == Kind::add; }
inline bool is_undo(Kind kind) { return kind == Kind::undo_write || kind == Kind::undo_add; }
inline bool is_effect(Kind kind) { return is_write(kind) || kind == Kind::action; }

// The end of a child, not of its saga.
inline bool ends_part(const Operation& operation) {
  return operation.kind == Kind::finish && operation.step.starts_with('.');
}

// An operation, at its place in the order of commits.
struct Entry {
  const Operation* operation = nullptr;
  Index saga = kNone, row = kNone;
  Index access = kNone;         // saga x row
  Index run = kNone;            // saga x step
  Index part = kNone;           // saga x part, of a child's step
  Index place = kNone;          // saga x step x row
  Index write = kNone;          // of a write or undo
  Index seen = kUnknown;        // the write that a read saw, or that a write is based on where it says so
  bool superseded = false;      // a read that its step did again
  bool outdated = false;        // a read whose conflict is reported: no part of a cycle
};

// A write or undo in the chain of its row.
struct Write {
  Index entry = kNone;
  Index before = kNone;         // on the same row
  Index number = 0;             // on its row, from 1
  Index effective_count = 0;    // effective writes of the row up to here
  Index undone_at = kNone;      // entry
  bool undone_on_row = false;   // by an undo of the row, so that a new version exists
  Index first_undone = kNone;   // of an undo: the earliest write that it undoes
  Index same_version_before = kNone;
  Index pending_before = kNone; // of the same place, not undone before this
};

struct SagaLife {
  Index begin = kNone, finish = kNone;  // entries; a parked saga has no finish
  bool parked = false;
  bool compensated = false;
};

struct History {
  std::vector<Entry> entries;
  std::vector<Write> writes;
  std::vector<SagaLife> sagas;
  std::vector<bool> locked;     // by access: the saga took the row's lock at some time
  std::vector<bool> completed_parts;  // by part, where it is that long
  std::size_t rows = 0, runs = 0, places = 0;

  const Operation& operation(Index entry) const { return *entries[entry].operation; }
  const Entry& entry_of(Index write) const { return entries[writes[write].entry]; }
  Kind kind_of(Index write) const { return entry_of(write).operation->kind; }
  bool effective(Index write) const { return writes[write].undone_at == kNone && is_write(kind_of(write)); }
  bool of_completed_part(const Entry& entry) const {
    return entry.part < completed_parts.size() && completed_parts[entry.part];
  }
  Index effective_count(Index write) const { return write == kNone ? 0 : writes[write].effective_count; }
};

History index_history(std::span<const Operation> operations);

}  // namespace skald::checker
