// Importing the fallback file, over both databases.
#include <gmock/gmock.h>

#include "dead_letter/fallback_fixture.h"
#include "dead_letter/undertaker.h"
#include "skald/json.h"
#include "store/tables/dead_letter.h"
#include "store/tables/outbox.h"
#include "store/tables/schema.h"
#include "support/test_database.h"

namespace skald::dead_letter {
namespace {

using tables::dead_letter::State;
using testing::ElementsAre;

class FallbackRecordsTest : public testing::TestWithParam<Dialect> {
 protected:
  void SetUp() override { db().migrate(tables::kComponent, tables::migrations()); }

  Database& db() { return **database_; }

  Entry emit(const std::string& id) {
    return db().write_result("emit", [&](Transaction& tx) {
      const Event event{.id = id, .type = "t", .key = "k", .subject = "s", .payload = "{}", .traceparent = ""};
      const tables::outbox::NewEntry entry{&event, "hash", 3};
      tables::outbox::insert(tx, std::span(&entry, 1));
      return *tables::outbox::find(tx, id);
    });
  }
  // The table cannot take it, the file can, and then its entry cannot be ended.
  void bury_in_file_only(const Entry& entry) {
    Undertaker undertaker(env_, db(), &file_, [](std::string_view, std::string_view) {});
    bury_in_file_only(undertaker, entry);
  }
  static void bury_in_file_only(Undertaker& undertaker, const Entry& entry) {
    const auto away = [](Transaction&) -> bool { throw Unavailable("DATABASE_UNAVAILABLE", "away"); };
    EXPECT_EQ(undertaker.bury({entry, "REFUSED", "no", false}, {.still_ours = away, .also = {}}),
              Undertaker::Rest::nowhere);
  }
  void end(const Entry& entry) {
    db().write("end", [&](Transaction& tx) { tables::outbox::bury(tx, entry, "no"); });
  }
  void complete(const Entry& entry) {
    db().write("complete", [&](Transaction& tx) {
      const tables::outbox::Completion done{entry.id};
      tables::outbox::complete(tx, std::span(&done, 1), "worker", false);
    });
  }
  void forget_completed() {
    db().write("forget",
               [&](Transaction& tx) { EXPECT_EQ(tables::outbox::forget_completed(tx, tx.now() + 1h, 10), 1); });
  }
  void replay(const std::string& id) {
    db().write("replay", [&](Transaction& tx) { dead_letter::replay(tx, *random_, id, "kim", {}); });
  }
  void discard(const std::string& id) {
    db().write("discard", [&](Transaction& tx) { dead_letter::discard(tx, *random_, id, "kim", "why not"); });
  }
  // How many were imported, and known.
  std::pair<int, int> import() {
    const Import result = import_fallback_file(env_, db(), path_, "kim");
    EXPECT_EQ(result.damaged, 0);
    return {static_cast<int>(result.imported), static_cast<int>(result.known)};
  }

  std::optional<State> state_of(const std::string& id) {
    return db().read_result([&](Transaction& tx) {
      const auto letter = tables::dead_letter::find(tx, id);
      return letter ? std::optional(letter->state) : std::nullopt;
    });
  }
  std::vector<std::string> ids_in(const std::string& path) {
    std::vector<std::string> out;
    for (const std::string& record : test::read(path).records)
      out.push_back(from_json<tables::dead_letter::DeadLetter>(record).id);
    return out;
  }
  // The file beside the fallback file whose name has `what` in it.
  std::string kept(const std::string& what) {
    for (const auto& found : std::filesystem::directory_iterator(std::filesystem::path(path_).parent_path()))
      if (found.path().string().find(what) != std::string::npos) return found.path();
    return "";
  }

  const test::Folder folder_;
  const std::string path_ = folder_.file();
  FallbackFile file_{path_};
  std::unique_ptr<Clock> clock_ = system_clock();
  std::unique_ptr<Random> random_ = system_random();
  Env env_{*clock_, *random_, silent_observer()};
  std::unique_ptr<test::TestDatabase> database_ = test::TestDatabase::of(GetParam(), env_);
};

INSTANTIATE_TEST_SUITE_P(Databases, FallbackRecordsTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& which) { return which.param == Dialect::sqlite ? "sqlite" : "postgres"; });

TEST_P(FallbackRecordsTest, ARecordWhoseEntryHasEndedBecomesADeadLetter) {
  const Entry entry = emit("e1");
  bury_in_file_only(entry);
  end(entry);
  EXPECT_EQ(import(), std::pair(1, 0));
  EXPECT_EQ(state_of("e1"), State::DEAD);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(import(), std::pair(0, 0));
}

TEST_P(FallbackRecordsTest, AnEventThatWasDeliveredAfterAllIsNoDeadLetter) {
  const Entry entry = emit("e1");
  bury_in_file_only(entry);
  complete(entry);
  EXPECT_EQ(import(), std::pair(0, 1));
  EXPECT_EQ(state_of("e1"), std::nullopt);
}

TEST_P(FallbackRecordsTest, AnEventThatWasDeliveredAndForgottenIsNoDeadLetterAndItsRecordIsKept) {
  const Entry entry = emit("e1");
  bury_in_file_only(entry);
  complete(entry);
  forget_completed();
  EXPECT_EQ(import(), std::pair(0, 1));
  EXPECT_EQ(state_of("e1"), std::nullopt);
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_THAT(ids_in(kept("dead-letters.forgotten.")), ElementsAre("e1"));
}

TEST_P(FallbackRecordsTest, AnEventThatWasReplayedDeliveredAndForgottenStaysReplayed) {
  const Entry entry = emit("e1");
  bury_in_file_only(entry);
  end(entry);
  std::filesystem::copy_file(path_, path_ + ".again");
  import();
  replay("e1");
  complete(entry);
  forget_completed();
  std::filesystem::rename(path_ + ".again", path_);
  EXPECT_EQ(import(), std::pair(0, 1));
  EXPECT_EQ(state_of("e1"), State::REPLAYED);
  EXPECT_EQ(kept("forgotten"), "") << "the table has it whole";
}

TEST_P(FallbackRecordsTest, AnEventUnderWayIsLeftForTheNextImport) {
  const Entry entry = emit("e1");
  bury_in_file_only(entry);
  EXPECT_EQ(import(), std::pair(0, 1));
  EXPECT_THAT(ids_in(path_), ElementsAre("e1"));
  end(entry);
  EXPECT_EQ(import(), std::pair(1, 0));
}

TEST_P(FallbackRecordsTest, ALetterThatWasReplayedAndHasDiedAgainIsDeadAgain) {
  const Entry entry = emit("e1");
  bury_in_file_only(entry);
  end(entry);
  import();
  replay("e1");
  bury_in_file_only(entry);
  end(entry);
  EXPECT_EQ(import(), std::pair(1, 0));
  EXPECT_EQ(state_of("e1"), State::DEAD);
}

TEST_P(FallbackRecordsTest, ADiscardedLetterStaysDiscarded) {
  const Entry entry = emit("e1");
  bury_in_file_only(entry);
  end(entry);
  std::filesystem::copy_file(path_, path_ + ".again");
  import();
  discard("e1");
  std::filesystem::rename(path_ + ".again", path_);
  EXPECT_EQ(import(), std::pair(0, 1));
  EXPECT_EQ(state_of("e1"), State::DISCARDED);
}

TEST_P(FallbackRecordsTest, OneImportTakesWhatACrashHasLeftAndTheFileBegunSince) {
  const Entry old = emit("e1"), undecided = emit("e2"), young = emit("e3");
  bury_in_file_only(old);
  bury_in_file_only(undecided);
  { ASSERT_TRUE(FallbackImport::take(path_)); }  // dies before it has read a line
  bury_in_file_only(young);
  end(old);
  end(young);
  EXPECT_EQ(import().first, 2);
  EXPECT_EQ(state_of("e1"), State::DEAD);
  EXPECT_EQ(state_of("e3"), State::DEAD);
  EXPECT_THAT(ids_in(path_), ElementsAre("e2"));
  EXPECT_FALSE(std::filesystem::exists(path_ + ".importing"));
}

TEST_P(FallbackRecordsTest, ABurialThatIsTriedAgainIsInTheFileOnce) {
  const Entry entry = emit("e1"), other = emit("e2");
  Undertaker undertaker(env_, db(), &file_, [](std::string_view, std::string_view) {});
  for (int i = 0; i < 3; ++i) bury_in_file_only(undertaker, entry);
  bury_in_file_only(undertaker, other);
  EXPECT_THAT(ids_in(path_), ElementsAre("e1", "e2"));
  EXPECT_EQ(import(), std::pair(0, 2)) << "both are under way, and left for the next import";
  bury_in_file_only(undertaker, entry);
  EXPECT_THAT(ids_in(path_), ElementsAre("e1", "e2"));
}

// Somebody may have taken it away meanwhile: what the file is believed to hold is looked up.
TEST_P(FallbackRecordsTest, ABurialThatIsTriedAgainIsWrittenAgainWhereTheFileIsGone) {
  const Entry entry = emit("e1");
  Undertaker undertaker(env_, db(), &file_, [](std::string_view, std::string_view) {});
  bury_in_file_only(undertaker, entry);
  std::filesystem::remove(path_);
  bury_in_file_only(undertaker, entry);
  EXPECT_THAT(ids_in(path_), ElementsAre("e1"));
}

TEST_P(FallbackRecordsTest, AnEventThatDiesAgainAfterItsBurialIsWrittenAgain) {
  const Entry entry = emit("e1");
  Undertaker undertaker(env_, db(), &file_, [](std::string_view, std::string_view) {});
  bury_in_file_only(undertaker, entry);
  EXPECT_EQ(
      undertaker.bury({entry, "REFUSED", "no", false}, {.still_ours = [](Transaction&) { return true; }, .also = {}}),
      Undertaker::Rest::table);
  EXPECT_EQ(import(), std::pair(0, 1));
  replay("e1");
  bury_in_file_only(undertaker, entry);
  EXPECT_THAT(ids_in(path_), ElementsAre("e1"));
}

TEST_P(FallbackRecordsTest, ALetterWithoutADeadEntryIsNotReplayed) {
  const Entry entry = emit("e1");
  db().write("put", [&](Transaction& tx) {
    tables::dead_letter::put(tx, tables::dead_letter::from_entry(entry, "REFUSED", "no", tx.now()));
  });
  complete(entry);
  EXPECT_THROW(replay("e1"), Conflict);
  forget_completed();
  EXPECT_THROW(replay("e1"), Conflict);
  EXPECT_EQ(state_of("e1"), State::DEAD);
  discard("e1");
}

}  // namespace
}  // namespace skald::dead_letter
