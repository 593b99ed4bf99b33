// The checker: finds in a recorded history of sagas where they corrupted each other.
//
// A history is what sagas did, in the order in which the database committed it. A saga
// is one transaction made of several commits: all operations with its saga_id, children
// under their root's. A write is `write` (absolute) or `add` (commutative); it is
// *undone* by the first later undo_write or undo_add of its saga and step on its row,
// or where there is none, by its step's compensation. What is never undone is
// *effective*. A step that runs again in a later commit replaces its earlier reads. The
// steps of a child are named ".PART STEP", and its own finish has .PART for a step: what it
// completed stays when its root is compensated, unless the root's steps undo it.
//
// | dirty_read          | A reads a row whose value holds a write of B that is undone afterwards             |
// | lost_update         | A overwrites a row that it last read (or says it read) before an effective write of B, unseen |
// | non_repeatable_read | A, not compensated, reads a row again and sees an effective write of B that came since its last read or write |
// | dirty_undo          | A's undo_write comes over a standing write of B made after what it undoes; or its undo_add over an absolute one that never saw it |
// | orphan_effect       | a write or action of a saga that has not begun, never ends, has ended, or ended compensated and left it |
// | double_compensation | a step is compensated, or its row undone, again without an effect in between       |
// | empty_compensation  | a step is undone that never had an effect                                          |
// | overlapping_locks   | A takes a lock that B holds, unless both are shared                                |
// | order_inversion     | a step takes effect after it was undone; a row's version falls from commit to commit; A reads an older version than before |
// | cycle               | sagas A -> B -> … -> A, each after the one before it by effective writes and the reads of sagas not compensated: ww, wr, rw |
//
// Two adds of a row never conflict. A cycle that one of the pairwise findings explains
// is not reported again. So a serial history has no finding, nor has one that equals a
// serial one, whatever runs side by side.
//
// What a recorder must keep to: `begin` and `finish` of each saga; an `action` (or its
// writes) of every step that has an undo, and its `compensation`, where they are
// applied, not where they are asked for; only what is committed, but with the reads of
// a step that the business refused. Versions of a row grow. Without version_read a read
// has seen the latest write of the row.
//
// All of it is pure and thread safe.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/isolation.h"
#include "skald/json.h"

namespace skald::checker {

enum class Kind { begin, read, write, add, undo_write, undo_add, action, compensation, lock, unlock, finish };
BOOST_DESCRIBE_ENUM(Kind, begin, read, write, add, undo_write, undo_add, action, compensation, lock, unlock, finish)

// parked: waits for a person, and is neither ended nor forgotten.
enum class Outcome { completed, compensated, parked };
BOOST_DESCRIBE_ENUM(Outcome, completed, compensated, parked)

struct Operation {
  std::int64_t at = 0;  // the commit's place in the order of commits; one commit may hold several operations
  std::string saga_id, saga_type, step;
  Kind kind = Kind::read;
  std::string resource, key;  // the row; empty for begin and finish, and where an action has none
  std::optional<std::int64_t> version_read;  // of a read; of a write: the version that it checked or is based on
  std::optional<std::int64_t> version_written;
  std::optional<LockMode> mode;  // of a lock
  std::optional<Outcome> outcome;  // of a finish
  std::optional<bool> lasting;  // a write or action that is meant to stay after compensation
  bool operator==(const Operation&) const = default;
};
BOOST_DESCRIBE_STRUCT(Operation, (),
                      (at, saga_id, saga_type, step, kind, resource, key, version_read, version_written, mode, outcome,
                       lasting))

enum class Anomaly {
  dirty_read,
  lost_update,
  non_repeatable_read,
  dirty_undo,
  orphan_effect,
  double_compensation,
  empty_compensation,
  overlapping_locks,
  order_inversion,
  cycle
};
BOOST_DESCRIBE_ENUM(Anomaly, dirty_read, lost_update, non_repeatable_read, dirty_undo, orphan_effect,
                    double_compensation, empty_compensation, overlapping_locks, order_inversion, cycle)

// `to` comes after `from` on the row: overwrote it (ww), read it (wr), overwrote what it
// had read (rw), or wrote over it to undo (undo).
enum class EdgeKind { ww, wr, rw, undo };
BOOST_DESCRIBE_ENUM(EdgeKind, ww, wr, rw, undo)
struct Edge {
  EdgeKind kind = EdgeKind::ww;
  std::string from, to;  // saga ids
  std::string resource, key;
  bool operator==(const Edge&) const = default;
};
BOOST_DESCRIBE_STRUCT(Edge, (), (kind, from, to, resource, key))

// An operation that has a part in a finding.
struct Part {
  std::string saga_id, saga_type, step;
  Kind kind = Kind::read;
  std::int64_t at = 0;
};
BOOST_DESCRIBE_STRUCT(Part, (), (saga_id, saga_type, step, kind, at))

struct Finding {
  Anomaly anomaly = Anomaly::cycle;
  std::string resource, key;  // the row; of a cycle: its first edge's
  std::vector<Part> parts;  // the saga that did it or suffers it first
  std::vector<Edge> edges;  // between sagas: together they close a circle
  std::string explanation;  // one sentence for a person
  std::string countermeasure;  // what would cover it
};
BOOST_DESCRIBE_STRUCT(Finding, (), (anomaly, resource, key, parts, edges, explanation, countermeasure))

struct Scope {
  bool from_the_beginning = true;  // false: sagas may have begun before the first operation
  bool to_the_end = true;  // false: sagas may still run behind the last one
  std::size_t findings_max = 10'000;
};

// In the order of `at`, at most one per anomaly, sagas and row (a step's for
// effects and compensations). Operations may come in any order of `at`; those of one `at` in
// the order in which they were done. Near linear: seconds for a million of them. Throws Invalid (HISTORY_OPERATION) for one that lacks what its kind needs.
std::vector<Finding> check(std::span<const Operation> history, const Scope& scope = {});

// One operation as a line of JSON (to_json gives it) or a table's row; `number` is for the
// error. Throws Malformed (HISTORY_LINE) for what is no JSON, Invalid (HISTORY_LINE)
// for what is no operation.
Operation read_operation(std::string_view line, std::size_t number);
// A file of such lines. A last line that is cut off throws Malformed (HISTORY_TORN).
std::vector<Operation> read_history(std::string_view lines);

// For people, one paragraph a finding, control characters made harmless; and for programs:
// {"findings":[…],"counts":{"dirty_read":1}}.
std::string findings_text(std::span<const Finding> findings);
std::string findings_json(std::span<const Finding> findings);

// For Elle's list-append checker: a saga is one transaction and its own process,
// completed :ok, compensated :fail, otherwise :info; a write appends its number among its
// row's writes, a read sees the numbers of the writes that its value holds, so the text
// grows with the square of a row's writes.
std::string history_edn(std::span<const Operation> history);

}  // namespace skald::checker
