#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "isolation/checker/history_fixture.h"

namespace skald::checker {
namespace {

using testing::HasSubstr;
using testing::Not;

// A's write is seen by b and undone.
std::vector<Operation> dirty_history() {
  Tape tape;
  tape.begin("a");
  tape.begin("b");
  tape.write("a", "reserve", "k");
  tape.read("b", "decide", "k");
  tape.complete("b");
  tape.change(Kind::undo_write, "a", "reserve", "k");
  tape.compensated("a");
  return tape.history;
}

std::string lines_of(const std::vector<Operation>& history) {
  std::string lines;
  for (const Operation& one : history) lines += to_json(one) + "\n";
  return lines;
}

template <class ErrorType>
std::string error_of(std::string_view code, std::string_view lines) {
  try {
    read_history(lines);
  } catch (const ErrorType& error) {
    return error.code() == code ? error.what() : error.code();
  }
  return "accepted";
}

TEST(HistoryLines, ComeBackAsTheyWereWritten) {
  Tape tape;
  tape.history = dirty_history();
  tape.lock("c", "k\n\"quoted\"", LockMode::shared);
  EXPECT_EQ(read_history(lines_of(tape.history)), tape.history);
  EXPECT_EQ(to_json(tape.history[2]),
            R"({"at":3,"sagaId":"a","sagaType":"test.saga","step":"reserve","kind":"write","resource":"product",)"
            R"("key":"k","versionWritten":1})");
}

TEST(HistoryLines, BlankLinesAndAMissingLastNewlineAreFine) {
  std::string lines = "\n" + lines_of(dirty_history());
  lines.pop_back();
  EXPECT_EQ(read_history(lines), dirty_history());
  EXPECT_TRUE(read_history("").empty());
}

TEST(HistoryLines, ATornLastLineSaysWhichAndWhatToDo) {
  const std::string lines = lines_of(dirty_history());
  const std::size_t last = lines.rfind('\n', lines.size() - 2) + 1;
  for (std::size_t end = last + 1; end < lines.size() - 1; ++end)
    ASSERT_THAT(error_of<Malformed>("HISTORY_TORN", lines.substr(0, end)), HasSubstr("its last line, 7,"));
}

TEST(HistoryLines, GarbageNamesItsLine) {
  const std::string good = lines_of(dirty_history());
  EXPECT_THAT(error_of<Malformed>("HISTORY_LINE", good + "\x01garbage\n" + good), HasSubstr("line 8"));
  EXPECT_THAT(error_of<Malformed>("HISTORY_LINE", "{\"at\":1\n" + good), HasSubstr("line 1"));
  EXPECT_THAT(error_of<Invalid>("HISTORY_LINE", good + R"({"at":"x"})" + "\n"), HasSubstr("/at"));
  EXPECT_THAT(error_of<Malformed>("HISTORY_LINE", std::string(2 << 20, ' ') + "x\n"), HasSubstr("1 MiB"));
}

TEST(HistoryLines, AnOperationThatLacksWhatItsKindNeedsIsRefused) {
  Tape tape;
  tape.note(Kind::finish, "a");
  EXPECT_THAT(error_of<Invalid>("HISTORY_LINE", lines_of(tape.history)), HasSubstr("outcome"));
  EXPECT_THROW(check(tape.history), Invalid);
  tape.history[0].kind = Kind::undo_write;
  EXPECT_THROW(check(tape.history), Invalid);
  tape.history[0].kind = Kind::lock;
  tape.history[0].resource = "product";
  EXPECT_THROW(check(tape.history), Invalid);
  tape.history[0].mode = LockMode::shared;
  EXPECT_TRUE(check(tape.history).empty());
}

TEST(FindingsText, TellsWhatHappenedToWhomAndWhatWouldCoverIt) {
  const std::string text = findings_text(check(dirty_history()));
  EXPECT_THAT(text, HasSubstr("dirty read on product/k\n"));
  EXPECT_THAT(text, HasSubstr("saga 'b' (test.saga) in step 'decide' read product/k with what saga 'a' (test.saga) in "
                              "step 'reserve' had written, which was undone afterwards"));
  EXPECT_THAT(text, HasSubstr("covered by: semantic lock"));
  EXPECT_THAT(text, HasSubstr("1 anomaly\n"));
  EXPECT_EQ(findings_text({}), "no anomaly found\n");
}

TEST(FindingsText, DoesNotSteerATerminal) {
  auto history = dirty_history();
  for (Operation& one : history) one.key += "\x1b[2J";
  EXPECT_THAT(findings_text(check(history)), Not(HasSubstr("\x1b")));
}

TEST(FindingsJson, HoldsTheFindingsAndTheirCounts) {
  const auto value = json::parse(findings_json(check(dirty_history())));
  const auto& finding = value.at("findings").at(0);
  EXPECT_EQ(finding.at("anomaly"), "dirty_read");
  EXPECT_EQ(finding.at("resource"), "product");
  EXPECT_EQ(finding.at("parts").at(0).at("sagaId"), "b");
  EXPECT_EQ(finding.at("edges").at(0).at("kind"), "wr");
  EXPECT_EQ(value.at("counts").at("dirty_read"), 1);
  EXPECT_EQ(findings_json({}), R"({"findings":[],"counts":{}})");
}

TEST(HistoryEdn, IsOneTransactionASagaAsElleReadsIt) {
  Tape tape;
  tape.history = dirty_history();
  tape.begin("c");
  tape.change(Kind::add, "c", "count", "new");
  EXPECT_EQ(history_edn(tape.history),
            "{:index 0 :type :invoke :process 0 :f :txn :value [[:append \"product/k\" 1]]}\n"
            "{:index 1 :type :invoke :process 1 :f :txn :value [[:r \"product/k\" nil]]}\n"
            "{:index 2 :type :ok :process 1 :f :txn :value [[:r \"product/k\" [1]]]}\n"
            "{:index 3 :type :fail :process 0 :f :txn :value [[:append \"product/k\" 1]]}\n"
            "{:index 4 :type :invoke :process 2 :f :txn :value [[:append \"product/new\" 1]]}\n"
            "{:index 5 :type :info :process 2 :f :txn :value [[:append \"product/new\" 1]]}\n");
}

TEST(HistoryEdn, AReadAfterAnUndoDoesNotHoldWhatWasUndone) {
  Tape tape;
  tape.history = dirty_history();
  tape.begin("c");
  tape.read("c", "look", "k").version_read = 2;
  tape.complete("c");
  EXPECT_THAT(history_edn(tape.history), HasSubstr("[:r \"product/k\" []]"));
}

}  // namespace
}  // namespace skald::checker
