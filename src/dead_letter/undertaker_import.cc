// Bringing the fallback file's records back.
#include <filesystem>

#include "dead_letter/undertaker.h"
#include "env/seam.h"
#include "skald/id.h"
#include "skald/json.h"
#include "store/tables/audit.h"
#include "store/tables/dead_letter.h"
#include "store/tables/outbox.h"

namespace skald::dead_letter {
namespace {

namespace letters = tables::dead_letter;
using letters::DeadLetter;

enum class Fate { dead, known, under_way, forgotten };

// Makes of a record what it should be by what the database knows of its event. The
// letter is locked first: nobody can replay it before this transaction's end.
Fate bring_back(Transaction& tx, const DeadLetter& letter) {
  const auto before = letters::find_locked(tx, letter.id);
  const auto entry = tables::outbox::find(tx, letter.id);
  // The record was made of an entry, and only completed entries are ever deleted.
  if (!entry && seam::holds(seam::Rule::forgotten_counts_delivered)) return before ? Fate::known : Fate::forgotten;
  const EntryStatus status = entry ? entry->status : EntryStatus::DEAD_LETTER;
  if (status == EntryStatus::COMPLETED) return Fate::known;
  // The file has it before its entry ends: it may still end, or be delivered.
  if (status != EntryStatus::DEAD_LETTER) return Fate::under_way;
  // Another machine may have a record of it, and be importing that.
  if (!before) return letters::put_first(tx, letter) ? Fate::dead : Fate::known;
  // A letter that was replayed and has died again counts as dead again.
  return before->state == letters::State::REPLAYED && letters::put(tx, letter) ? Fate::dead : Fate::known;
}

class Importer {
 public:
  Importer(Env env, Database& db, const std::string& path, std::string_view actor)
      : env_(env), db_(db), path_(path), actor_(actor) {}

  void read(const std::string& file) {
    const auto damaged_before = result_.damaged;
    read_fallback_file(
        file, [&](std::string_view record) { take(record); },
        [&](std::uint64_t line, std::string_view why) { skip(line, why); });
    // A torn last line never counted; anything else may still be read by a person.
    if (result_.damaged > damaged_before) std::filesystem::copy_file(file, beside("damaged"));
  }

  const Import& result() const { return result_; }

 private:
  void take(std::string_view record) {
    const auto letter = from_json<DeadLetter>(record);
    const Fate fate = db_.write_result("import dead letter", [&](Transaction& tx) {
      const Fate now = bring_back(tx, letter);
      if (now == Fate::dead)
        tables::audit::insert(tx, env_.random, actor_, "dead-letter.import", letter.id, letter.reason);
      return now;
    });
    if (fate == Fate::under_way) FallbackFile(path_).append(record);  // for the next import to decide
    if (fate == Fate::forgotten) keep(record, letter.id);
    ++(fate == Fate::dead ? result_.imported : result_.known);
  }

  void keep(std::string_view record, const std::string& id) {
    if (!forgotten_) forgotten_.emplace(beside("forgotten"));
    forgotten_->append(record);
    env_.observer.log(Observer::Level::warn,
                      "the outbox no longer has an event of the fallback file: it was delivered and forgotten since, "
                      "or the file is of another database; its record is kept beside the file",
                      "\"event\":" + to_json(id));
  }

  void skip(std::uint64_t line, std::string_view why) {
    ++result_.damaged;
    env_.observer.log(Observer::Level::error, "a damaged line in the fallback file was skipped",
                      "\"line\":" + std::to_string(line) + ",\"why\":" + to_json(std::string(why)));
  }

  std::string beside(std::string_view what) {
    return path_ + "." + std::string(what) + "." + make_id(env_.clock.now(), env_.random);
  }

  Env env_;
  Database& db_;
  const std::string path_;
  const std::string_view actor_;
  std::optional<FallbackFile> forgotten_;
  Import result_;
};

}  // namespace

Import import_fallback_file(Env env, Database& db, const std::string& path, std::string_view actor) {
  Importer importer(env, db, path, actor);
  if (auto import = FallbackImport::take(path)) {
    do importer.read(import->path());
    while (import->finish());
  }
  return importer.result();
}

}  // namespace skald::dead_letter
