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

TEST(LetterText, WhatAnOlderVersionLeavesOutGetsItsDefault) {
  const Letter read = read_letter("{\"sender\":\"db-1\",\"partition\":3,\"number\":7,\"former\":\"\",\"bytes\":2}\n[]");
  EXPECT_FALSE(read.again);
  EXPECT_THAT(read.ids, testing::IsEmpty());
  EXPECT_EQ(read_receipt(R"({"receipt":"busy","last":0,"chain":"","former":""})"), Receipt{});
}

// As a version after this one may write them.
TEST(LetterText, WhatNeedsANewerReaderIsRefusedAndTheSenderHearsWhy) {
  std::string text = letter_text(letter());
  text.insert(1, R"("least":2,)");
  std::string why;
  try {
    read_post(text);
  } catch (const Invalid& error) {
    EXPECT_EQ(error.code(), "VERSION_TOO_NEW");
    why = error.what();
  }
  EXPECT_THAT(why, testing::HasSubstr("a letter of the post needs a reader that knows version 2"));
  EXPECT_THROW(read_post(R"({"post":2,"least":2,"who":"db-1"})"), Invalid);
  for (const auto& read : std::vector<std::function<void(std::string_view)>>{read_receipt, read_knowledge}) {
    try {
      read(refusal_text(why));
      ADD_FAILURE() << "it was read";
    } catch (const Refused& error) {
      EXPECT_EQ(error.what(), why);
    }
    EXPECT_THROW(read(R"({"post":2,"least":2,"receipt":"landed","last":7,"chain":"","former":"","ids":[]})"), Invalid);
  }
}

TEST(LetterText, APlaceInAPartitionThatIsNotHereIsPassedOver) {
  const Knowledge read = read_knowledge(
      R"({"post":2,"lasts":[{"partition":64,"number":1,"chain":""},{"partition":-1,"number":1,"chain":""},)"
      R"({"partition":3,"number":9,"chain":"c"}],"ids":[],"since":"2026-11-15T20:00:00Z"})");
  EXPECT_EQ(read.lasts, (std::map<int, LanePlace>{{3, {9, "c"}}}));
}

// Whatever comes is read, or refused: 20,000 texts that are nearly right.
TEST(LetterText, NothingThatComesDoesHarm) {
  const std::string deep = std::string(200, '[') + std::string(200, ']');
  const std::vector<std::string> pieces = {"",
                                           "{",
                                           "}",
                                           "[",
                                           "]",
                                           "\"",
                                           ",",
                                           ":",
                                           "\n",
                                           "\\",
                                           "0",
                                           "-",
                                           "1e999",
                                           "null",
                                           "{}",
                                           "\"ids\"",
                                           "true",
                                           deep,
                                           "9999999999999999999999"};
  const std::vector<std::string> texts = {letter_text(letter()), inquiry_text({"db-1", {"a"}}), receipt_text({}),
                                          knowledge_text({{{3, {9, "c"}}}, {"a"}, from_micros(5)}), refusal_text("no")};
  std::uint64_t seed = 1;
  const auto draw = [&](std::size_t below) {
    seed = seed * 6364136223846793005 + 1442695040888963407;
    return static_cast<std::size_t>(seed >> 33) % below;
  };
  for (int i = 0; i < 2'000; ++i) {
    std::string text = texts[draw(texts.size())];
    for (std::size_t changes = 1 + draw(3); changes > 0; --changes)
      text.replace(draw(text.size()), draw(4), pieces[draw(pieces.size())]);
    for (const auto& read :
         std::vector<std::function<void(std::string_view)>>{read_post, read_receipt, read_knowledge}) {
      try {
        read(text);
      } catch (const Error&) {
        // refused
      }
    }
  }
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
