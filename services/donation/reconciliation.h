// Holds donations against the outbox: every donation has exactly one entry, and
// the end of every entry is explained. Reports what differs and repairs what can
// be repaired from what is there.
//
// | kind              | what                                              | repair                       |
// | MISSING_ENTRY     | no entry, and neither announced nor a dead letter | emitted again, same event id |
// | STATUS_DISAGREES  | the donation's status is not its entry's          | set to the entry's           |
// | CONTENT_DISAGREES | the entry says other than what was donated, or    | where it is a dead letter    |
// |                   | its hash differs: one of both was changed by hand | and the donation matches the |
// |                   |                                                   | hash that was taken: a new   |
// |                   |                                                   | entry in place of the old    |
// | UNEXPLAINED_END   | a DEAD_LETTER entry without a dead letter         | none: import the file        |
// | ORPHAN_ENTRY      | an entry that no donation knows                   | none: it may have been sent  |
//
// A new entry has an id of its own, because receivers may have been told of the old one by hand. The
// donation says what it replaces, and the old dead letter is discarded, saying by what: that is an
// operator's decision, so a reconciliation by the clock leaves it.
//
// Works in pages of bounded size. It joins the engine's tables skald_outbox and
// skald_dead_letter, which are open to readers: a page is one consistent look.
#pragma once

#include <string>
#include <vector>

#include "donation/record.h"
#include "skald/engine.h"
#include "skald/http.h"

namespace donation {

enum class Kind { MISSING_ENTRY, STATUS_DISAGREES, CONTENT_DISAGREES, UNEXPLAINED_END, ORPHAN_ENTRY };
BOOST_DESCRIBE_ENUM(Kind, MISSING_ENTRY, STATUS_DISAGREES, CONTENT_DISAGREES, UNEXPLAINED_END, ORPHAN_ENTRY)

struct Counterpart {
  skald::EntryStatus status = skald::EntryStatus::PENDING;
  std::string key, subject, payload, content_hash;
  skald::Time updated_at{};
};

// A donation beside its entry, as one statement saw them.
struct Case {
  Donation donation;
  std::optional<Counterpart> entry;
  bool has_dead_letter = false, letter_waits = false;  // for a decision
};

std::vector<Kind> judge(const Case& donation_case);

struct Difference {
  Kind kind{};
  std::int64_t count = 0, repaired = 0;
  std::vector<std::string> ids;  // the first ones: request ids; event ids of orphans
};
BOOST_DESCRIBE_STRUCT(Difference, (), (kind, count, repaired, ids))

struct Report {
  std::int64_t donations = 0, entries = 0;  // looked at
  std::vector<Difference> differences;      // at most one per kind

  void note(Kind kind, const std::string& id, bool repaired);
  void add(const Report& later);
  std::int64_t found() const;
  std::int64_t repaired() const;
  std::int64_t count_of(Kind kind) const;
};

// First all donations by their id, then all entries by their id.
enum class Stage { donations, entries, end };
BOOST_DESCRIBE_ENUM(Stage, donations, entries, end)
struct Position {
  Stage stage = Stage::donations;
  std::string after;
};

struct Repairs {
  bool wanted = false;
  std::string settled_by = {};  // the operator who settles dead letters; empty: they are left
};

// The page behind `at`. In a reading transaction only where no repairs are wanted.
Position reconcile_page(skald::Engine& engine, skald::Transaction& tx, const Position& at, const Repairs& repairs,
                        Report& report);

// Everything, each page in a transaction of its own, repairing.
Report reconcile_all(skald::Engine& engine);

void add_reconciliation(skald::Engine& engine, skald::Router& router, skald::Env env);

}  // namespace donation
