#include "dead_letter/undertaker.h"

#include "base/hash.h"
#include "base/text.h"
#include "env/seam.h"
#include "skald/id.h"
#include "skald/json.h"
#include "store/tables/audit.h"
#include "store/tables/blame.h"
#include "store/tables/dead_letter.h"
#include "store/tables/outbox.h"

namespace skald::dead_letter {
namespace {

namespace letters = tables::dead_letter;
using letters::DeadLetter;

constexpr std::size_t kErrorBytesMax = 500;
// Of more than these it is forgotten that the file has them, or that nobody hears of them: both are tried again.
constexpr std::size_t kRememberedMax = 10'000;
constexpr int kTellsMax = 3;

void end_entry(Transaction& tx, const Undertaker::Burial& burial, const Undertaker::Surroundings& around,
               UserCode& code) {
  if (!tables::outbox::bury(tx, burial.entry, burial.error)) return;
  if (burial.block_key) letters::block_key(tx, burial.entry.event.key, burial.entry.id);
  if (around.also) around.also(tx, burial.entry);
  if (around.tell) around.tell(tx, burial.entry, code);
}

}  // namespace

Undertaker::Undertaker(Env env, Database& db, FallbackFile* file, Alert alert)
    : env_(env), db_(db), file_(file), alert_(std::move(alert)) {}

Undertaker::Rest Undertaker::bury(const Burial& given, const Surroundings& given_around) {
  Burial burial = given;
  Surroundings around = given_around;
  const auto deaf = found_deaf(burial.entry.id);
  const bool untold = deaf && deaf->times >= kTellsMax;
  if (untold) {
    around.tell = {};
    burial.error = "its service could not be told of its end (" + deaf->error + "): " + burial.error;
  }
  burial.error = cut_text(burial.error, kErrorBytesMax);
  if (burial.reason == "INTEGRITY") {
    env_.observer.count("outbox_integrity_failures_total");
    alert_("INTEGRITY", "event " + burial.entry.id + " does not match its content hash and was not sent");
  }
  UserCode code;
  try {
    const Rest rest = bury_in_table(burial, around, code);
    if (untold) told_nobody(burial);
    forget(burial.entry.id);
    return rest;
  } catch (const std::exception& table) {
    if (code.is_own()) return note_deaf(burial.entry.id, table);
    env_.observer.count("dead_letter_table_failures_total");
    env_.observer.log(Observer::Level::error, "a dead letter could not be stored in its table; using the file",
                      "\"event\":\"" + burial.entry.id + "\",\"error\":" + to_json(std::string(table.what())));
  }
  if (!is_in_file(burial.entry.id) && !bury_in_file(burial)) return Rest::nowhere;
  // The file has it: the entry may end, now or at the next try.
  Rest rest = Rest::file;
  code.begin_run();
  try {
    db_.write("end a dead letter's entry", [&](Transaction& tx) {
      code.begin_run();
      rest = around.still_ours(tx) ? Rest::file : Rest::not_ours;
      if (rest == Rest::file) end_entry(tx, burial, around, code);
    });
  } catch (const std::exception& error) {
    env_.observer.log(Observer::Level::error, "the entry of a dead letter in the file could not be ended yet",
                      "\"event\":\"" + burial.entry.id + "\",\"error\":" + to_json(std::string(error.what())));
    note_in_file(burial.entry.id);
    return code.is_own() ? note_deaf(burial.entry.id, error) : Rest::nowhere;
  }
  if (untold) told_nobody(burial);
  forget(burial.entry.id);
  return rest;
}

// What was read into the table meanwhile, or taken away by a person, is not there any more.
bool Undertaker::is_in_file(const std::string& id) {
  {
    std::lock_guard lock(mutex_);
    if (file_ == nullptr || !filed_.contains(id)) return false;
  }
  bool found = false;
  try {
    read_fallback_file(
        file_->path(), [&](std::string_view record) { found = found || from_json<DeadLetter>(record).id == id; },
        [](std::uint64_t, std::string_view) {});
  } catch (const Error&) {
    return false;  // it is written again: who imports takes it once
  }
  return found;
}

void Undertaker::note_in_file(const std::string& id) {
  std::lock_guard lock(mutex_);
  if (filed_.size() < kRememberedMax) filed_.insert(id);
}

void Undertaker::forget(const std::string& id) {
  std::lock_guard lock(mutex_);
  filed_.erase(id);
  deaf_.erase(id);
}

std::optional<Undertaker::Deaf> Undertaker::found_deaf(const std::string& id) {
  std::lock_guard lock(mutex_);
  const auto found = deaf_.find(id);
  return found == deaf_.end() ? std::nullopt : std::optional(found->second);
}

Undertaker::Rest Undertaker::note_deaf(const std::string& id, const std::exception& error) {
  env_.observer.log(
      Observer::Level::error, "a service could not be told that its event is a dead letter",
      "\"tag\":\"[Outbox]\",\"event\":" + to_json(id) + ",\"error\":" + to_json(std::string(error.what())));
  std::lock_guard lock(mutex_);
  if (deaf_.size() >= kRememberedMax && !deaf_.contains(id)) return Rest::nowhere;
  Deaf& deaf = deaf_[id];
  ++deaf.times;
  deaf.error = error.what();
  return Rest::nowhere;
}

void Undertaker::told_nobody(const Burial& burial) const {
  env_.observer.count("dead_letters_untold_total");
  alert_("DEAD_LETTER_UNTOLD", "event " + burial.entry.id + " (" + burial.entry.event.type +
                                   ") is a dead letter and its service was not told, because it fails each time");
}

Undertaker::Rest Undertaker::bury_in_table(const Burial& burial, const Surroundings& around, UserCode& code) {
  Rest rest = Rest::table;
  code.begin_run();
  db_.write("bury", [&](Transaction& tx) {
    code.begin_run();
    rest = around.still_ours(tx) ? Rest::table : Rest::not_ours;
    if (rest == Rest::not_ours) return;
    if (seam::holds(seam::Rule::dead_letter_kept))
      letters::put(tx, letters::from_entry(burial.entry, burial.reason, burial.error, tx.now()));
    end_entry(tx, burial, around, code);
  });
  if (rest != Rest::table) return rest;
  env_.observer.count("dead_letters_total");
  env_.observer.log(Observer::Level::error, "an event is a dead letter now; see `skald dlq show`",
                    "\"tag\":\"[Outbox]\",\"event\":" + to_json(burial.entry.id) +
                        ",\"type\":" + to_json(burial.entry.event.type) + ",\"reason\":" + to_json(burial.reason) +
                        ",\"error\":" + to_json(burial.error));
  return rest;
}

// There is no entry, so there is nothing to replay; who sent it is to be asked for it.
void Undertaker::set_aside(std::string_view origin, std::string_view bytes, std::string_view why) {
  DeadLetter letter;
  letter.id = "unreadable-" + hex(sha256(unambiguous({origin, bytes})));
  letter.reason = "UNREADABLE";
  letter.type = "unreadable";
  letter.key = letter.subject = origin;
  letter.payload =
      is_utf8(bytes) ? "{\"text\":" + to_json(std::string(bytes)) + "}" : "{\"base64\":\"" + base64(bytes) + "\"}";
  letter.last_error = cut_text(std::string(why), kErrorBytesMax);
  const bool first = db_.write_result("set aside", [&](Transaction& tx) {
    letter.created_at = letter.dead_at = tx.now();
    return letters::put_first(tx, letter);
  });
  if (!first) return;
  env_.observer.count("dead_letters_total");
  alert_("UNREADABLE", "what came by " + std::string(origin) + " is no event; it is kept as dead letter " + letter.id);
}

bool Undertaker::bury_in_file(const Burial& burial) {
  const std::string record = to_json(letters::from_entry(burial.entry, burial.reason, burial.error, env_.clock.now()));
  try {
    if (file_ == nullptr) throw Unavailable("NO_FALLBACK_FILE", "no fallback file is configured");
    file_->append(record);
  } catch (const Error& error) {
    env_.observer.count("dead_letter_unsaved_total");
    alert_("DEAD_LETTER_UNSAVED", "neither the dead-letter table nor the fallback file could take event " +
                                      burial.entry.id + "; it stays in the outbox: " + error.what());
    if (file_ != nullptr) file_->reopen();  // the next try begins on a descriptor that has not failed
    return false;
  }
  env_.observer.count("dead_letter_file_fallback_total");
  env_.observer.count("dead_letters_total");
  return true;
}

namespace {

void bring_back(Transaction& tx, Random& random, std::string_view id, std::string_view actor,
                const std::function<void(Transaction&, const Entry&)>& also) {
  const auto letter = letters::find_locked(tx, id);
  if (!letter) throw NotFound("DEAD_LETTER_NOT_FOUND", "there is no dead letter " + std::string(id));
  if (!letters::resolve(tx, id, letters::State::REPLAYED, ""))
    throw Conflict("NOT_DEAD",
                   "the dead letter " + std::string(id) + " was already " + std::string(enum_name(letter->state)));
  const bool blocked = tx.execute("DELETE FROM skald_blocked_key WHERE event_id = $1", id) > 0;
  // Later events of the key have gone on unless it was blocked for this one.
  if (!seam::holds(seam::Rule::replay_through_inbox)) {
    const Event event{make_id(tx.now(), random), letter->type,    letter->key,
                      letter->subject,           letter->payload, letter->traceparent};
    const tables::outbox::NewEntry entry{&event, letter->content_hash, 3};
    tables::outbox::insert(tx, std::span(&entry, 1));
  } else if (!tables::outbox::revive(tx, id, !blocked)) {
    // Without its entry nobody can tell whether it was delivered long ago.
    throw Conflict("NOT_DEAD", "the outbox holds no dead entry of the letter " + std::string(id) + "; discard it");
  }
  if (also) also(tx, *tables::outbox::find(tx, id));
  tables::audit::insert(tx, random, actor, "dead-letter.replay", id, "");
}

}  // namespace

void replay(Transaction& tx, Random& random, std::string_view id, std::string_view actor,
            const std::function<void(Transaction&, const Entry&)>& also) {
  tables::blame::clear(tx, tables::blame::Kind::event, id);
  bring_back(tx, random, id, actor, also);
}

void try_again_alone(Transaction& tx, Random& random, std::string_view id,
                     const std::function<void(Transaction&, const Entry&)>& also) {
  bring_back(tx, random, id, "skald", also);
  tx.execute("UPDATE skald_outbox SET crashes = $2 WHERE id = $1", id, tables::blame::kDeathsAlone);
}

void discard(Transaction& tx, Random& random, std::string_view id, std::string_view actor, std::string_view reason) {
  const auto letter = letters::find_locked(tx, id);
  if (!letter) throw NotFound("DEAD_LETTER_NOT_FOUND", "there is no dead letter " + std::string(id));
  if (!letters::resolve(tx, id, letters::State::DISCARDED, reason))
    throw Conflict("NOT_DEAD",
                   "the dead letter " + std::string(id) + " was already " + std::string(enum_name(letter->state)));
  letters::unblock_key(tx, id);
  tables::blame::clear(tx, tables::blame::Kind::event, id);
  tables::audit::insert(tx, random, actor, "dead-letter.discard", id, reason);
}

}  // namespace skald::dead_letter
