#include "bus/letter_text.h"

#include <gmock/gmock.h>

#include "skald/error.h"

namespace skald {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

Letter letter() {
  Letter out{"db-1", partition_of("k"), 7, "abc", true, {"e1", "e2"}, {}};
  for (const std::string& id : out.ids)
    out.events.push_back({{.id = id, .type = "order.placed", .key = "k", .payload = R"({"a": 1.50})"},
                          "/order",
                          from_micros(1'800'000'000'000'000),
                          1,
                          false});
  return out;
}

Letter read_letter(std::string_view text) { return std::get<Letter>(read_post(text)); }

TEST(LetterText, ALetterArrivesAsItWasWritten) {
  const Letter read = read_letter(letter_text(letter()));
  EXPECT_EQ(read.sender, "db-1");
  EXPECT_EQ(read.partition, partition_of("k"));
  EXPECT_EQ(read.number, 7);
  EXPECT_EQ(read.former, "abc");
  EXPECT_TRUE(read.again);
  EXPECT_THAT(read.ids, ElementsAre("e1", "e2"));
  ASSERT_THAT(read.events, SizeIs(2));
  EXPECT_EQ(read.events[1].event, letter().events[1].event) << "byte for byte, the payload too";
}

TEST(LetterText, NoPartOfALetterIsALetter) {
  const std::string text = letter_text(letter());
  for (std::size_t size = 0; size < text.size(); ++size)
    EXPECT_THROW(read_letter(std::string_view(text).substr(0, size)), std::exception) << size;
}

TEST(LetterText, MembersOfALaterVersionAreIgnored) {
  std::string text = letter_text(letter());
  text.insert(1, R"("colour":"red",)");
  EXPECT_EQ(read_letter(text).number, 7);
  EXPECT_EQ(read_receipt(R"({"post":2,"receipt":"landed","last":7,"chain":"","former":"abc","ids":["e1"],"new":{}})"),
            (Receipt{Receipt::Kind::landed, 7, "", "abc", {"e1"}}));
}

TEST(LetterText, AnEventThatCannotBeReadIsSetAsideAndTheOthersAreRead) {
  std::string text = letter_text(letter());
  const std::size_t at = text.find("\"specversion\":\"1.0\"", text.find('\n'));
  text.replace(at, 19, "\"specversion\":\"9.9\"");
  const Letter read = read_letter(text);
  ASSERT_THAT(read.events, SizeIs(1));
  EXPECT_EQ(read.events[0].event.id, "e2");
  ASSERT_THAT(read.unreadable, SizeIs(1));
  EXPECT_THAT(read.unreadable[0].why, testing::HasSubstr("1.0"));
  EXPECT_THAT(read.ids, ElementsAre("e1", "e2")) << "it counts as arrived";
}

TEST(LetterText, AnEventOfAnotherPartitionIsSetAside) {
  Letter wrong = letter();
  wrong.partition = (wrong.partition + 1) % kPartitions;
  EXPECT_THAT(read_letter(letter_text(wrong)).unreadable, SizeIs(2));
}

TEST(LetterText, WhatNamesNoLaneIsNoLetter) {
  for (const auto& spoil : std::vector<std::function<void(Letter&)>>{
           [](Letter& one) { one.sender.clear(); }, [](Letter& one) { one.partition = 64; },
           [](Letter& one) { one.partition = -1; }, [](Letter& one) { one.number = 0; }}) {
    Letter one = letter();
    spoil(one);
    EXPECT_THROW(read_letter(letter_text(one)), Invalid);
  }
}

TEST(LetterText, QuestionsAndAnswersArriveAsTheyWereWritten) {
  const auto inquiry = std::get<Inquiry>(read_post(inquiry_text({"db-1", {"a", "b"}})));
  EXPECT_EQ(inquiry.sender, "db-1");
  EXPECT_THAT(inquiry.ids, ElementsAre("a", "b"));
  const Knowledge known{{{3, {9, "c"}}, {60, {1, "d"}}}, {"a"}, from_micros(5)};
  const Knowledge read = read_knowledge(knowledge_text(known));
  EXPECT_EQ(read.lasts, known.lasts);
  EXPECT_EQ(read.ids, known.ids);
  EXPECT_EQ(read.since, known.since);
  for (const Receipt& one : {Receipt{}, Receipt{Receipt::Kind::gap, 4, "c", {}, {}}})
    EXPECT_EQ(read_receipt(receipt_text(one)), one);
}

}  // namespace
}  // namespace skald
