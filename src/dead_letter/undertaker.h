// Brings events that cannot be delivered to the dead letters, through three nets:
//   1. the dead-letter table, in the transaction that ends the entry;
//   2. where that fails, an append-only file, synced, once; then the entry is ended;
//   3. where that fails too, an alert and a metric, and the entry stays.
// A service that is told of the end, and fails each time that it is, cannot keep its event from that: after
// three tries it is not told, which an alert, a metric and the letter's error say.
// Nothing is lost at any single or double failure: the entry ends only after one
// of the first two has it. Also what operators do with dead letters.
//
// Thread safe as far as the database and the file are.
#pragma once

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "dead_letter/fallback_file.h"
#include "skald/database.h"
#include "skald/entry.h"
#include "store/user_code.h"

namespace skald::dead_letter {

// Tells a person, now. Must not throw and must not block for long.
using Alert = std::function<void(std::string_view code, std::string_view text)>;

class Undertaker {
 public:
  // `file` may be null: then there is no second net.
  Undertaker(Env env, Database& db, FallbackFile* file, Alert alert);

  struct Burial {
    Entry entry;
    std::string reason;   // RETRIES_EXHAUSTED, REFUSED, INTEGRITY, CRASHED
    std::string error;
    bool block_key = false;
  };
  struct Surroundings {
    std::function<bool(Transaction&)> still_ours;                  // checks and locks the fence
    std::function<void(Transaction&, const Entry&)> also;          // in the same transaction
    std::function<void(Transaction&, const Entry&, UserCode&)> tell = {};  // the same, by code of a service
  };
  enum class Rest { table, file, nowhere, not_ours };
  Rest bury(const Burial& burial, const Surroundings& around);

  // What another service sent and nobody can read, whole, into the dead-letter table, once.
  // Throws what the database throws: whoever has it must keep it then.
  void set_aside(std::string_view origin, std::string_view bytes, std::string_view why);

 private:
  Rest bury_in_table(const Burial& burial, const Surroundings& around, UserCode& code);
  bool bury_in_file(const Burial& burial);

  // Of an earlier try, and still there.
  bool is_in_file(const std::string& id);
  void note_in_file(const std::string& id);
  void forget(const std::string& id);

  // Of a service that fails when it is told of this entry's end.
  struct Deaf {
    int times = 0;
    std::string error;
  };
  std::optional<Deaf> found_deaf(const std::string& id);
  Rest note_deaf(const std::string& id, const std::exception& error);
  void told_nobody(const Burial& burial) const;

  Env env_;
  Database& db_;
  FallbackFile* file_;
  Alert alert_;
  std::mutex mutex_;                // guards filed_ and deaf_
  std::set<std::string> filed_;     // ids in the file whose entries could not be ended yet
  std::map<std::string, Deaf> deaf_;  // by the entry's id
};

// Records of the fallback files into the table, each once, with an audit row each;
// then the files go. Known: those that need no dead letter, because the table has
// them, their entry is still live or was delivered after all. An entry that is gone
// was delivered, too (docs/decisions/0009); where nothing here tells of the event
// its record is kept in PATH.forgotten.ID. Damaged lines are skipped, logged, and
// kept in PATH.damaged.ID.
struct Import {
  std::int64_t imported = 0, known = 0, damaged = 0;
};
BOOST_DESCRIBE_STRUCT(Import, (), (imported, known, damaged))
Import import_fallback_file(Env env, Database& db, const std::string& path, std::string_view actor);

// An operator's decisions, in the caller's transaction, each with an audit row.
// Replay keeps the event's identity, so that receivers can dedupe. Throws NotFound
// and Conflict (NOT_DEAD: it is decided, or its entry is not dead).
// `also` runs in the transaction with the entry as it is after it.
void replay(Transaction& tx, Random& random, std::string_view id, std::string_view actor,
            const std::function<void(Transaction&, const Entry&)>& also);
// As replay(), of one that was parked because it kills its workers: it is run alone, and what was counted against it stays.
void try_again_alone(Transaction& tx, Random& random, std::string_view id,
                     const std::function<void(Transaction&, const Entry&)>& also);
void discard(Transaction& tx, Random& random, std::string_view id, std::string_view actor, std::string_view reason);

}  // namespace skald::dead_letter
