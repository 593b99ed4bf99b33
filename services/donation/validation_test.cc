#include "donation/validation.h"

#include <gtest/gtest.h>

#include "skald/error.h"

namespace donation {
namespace {

const Gift kGood{"r-1", "kim", 500, "EUR", "thank you"};

std::string refusal(const Gift& gift) {
  try {
    check(gift);
  } catch (const skald::Invalid& error) {
    return error.code();
  }
  return "";
}

template <class F>
std::string refusal_with(F&& change) {
  Gift gift = kGood;
  change(gift);
  return refusal(gift);
}

std::string repeat(const std::string& text, int times) {
  std::string out;
  while (times-- > 0) out += text;
  return out;
}

TEST(Validation, TakesWhatIsGood) {
  EXPECT_EQ(refusal(kGood), "");
  EXPECT_EQ(refusal_with([](Gift& g) { g.message.reset(); }), "");
  EXPECT_EQ(refusal_with([](Gift& g) { g.message = "two\nlines\tand a tab"; }), "");
}

TEST(Validation, RequestIdsAreVisibleAscii) {
  EXPECT_EQ(refusal_with([](Gift& g) { g.request_id = std::string(128, 'x'); }), "");
  for (const std::string& id :
       {std::string(), std::string(129, 'x'), std::string("a b"), std::string("\xc3\xa9"), std::string(1, '\0')})
    EXPECT_EQ(refusal_with([&](Gift& g) { g.request_id = id; }), "BAD_REQUEST_ID") << id;
}

TEST(Validation, DonorsAreCountedInCharactersNotBytes) {
  EXPECT_EQ(refusal_with([](Gift& g) { g.donor = repeat("\xed\x95\x9c", 100); }), "");
  EXPECT_EQ(refusal_with([](Gift& g) { g.donor = repeat("\xed\x95\x9c", 101); }), "BAD_DONOR");
}

TEST(Validation, DonorsHaveNoControlCharacters) {
  for (const std::string& donor :
       {std::string(), std::string("  "), std::string("a\nb"), std::string("a\0b", 3), std::string("\x7f"),
        std::string("a\xc2\x85"), std::string("a\u202e"), std::string("a\u2028b")})
    EXPECT_EQ(refusal_with([&](Gift& g) { g.donor = donor; }), "BAD_DONOR");
  EXPECT_EQ(refusal_with([](Gift& g) { g.donor = "a\xc2\xa0z"; }), "") << "a no-break space is none";
}

TEST(Validation, AmountsArePositiveAndBounded) {
  for (const std::int64_t amount : {std::int64_t{1}, kAmountMax})
    EXPECT_EQ(refusal_with([&](Gift& g) { g.amount = amount; }), "");
  for (const std::int64_t amount : {std::int64_t{0}, std::int64_t{-5}, kAmountMax + 1})
    EXPECT_EQ(refusal_with([&](Gift& g) { g.amount = amount; }), "BAD_AMOUNT");
}

TEST(Validation, CurrenciesAreThreeUpperCaseLetters) {
  for (const char* currency : {"", "EU", "EURO", "eur", "E1R", "\xc3\x89U"})
    EXPECT_EQ(refusal_with([&](Gift& g) { g.currency = currency; }), "BAD_CURRENCY") << currency;
}

TEST(Validation, MessagesAreBounded) {
  EXPECT_EQ(refusal_with([](Gift& g) { g.message = repeat("\xf0\x9f\x98\x80", 500); }), "");
  EXPECT_EQ(refusal_with([](Gift& g) { g.message = repeat("x", 501); }), "BAD_MESSAGE");
  EXPECT_EQ(refusal_with([](Gift& g) { g.message = std::string(1, '\0'); }), "BAD_MESSAGE");
}

}  // namespace
}  // namespace donation
