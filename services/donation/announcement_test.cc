#include <gtest/gtest.h>

#include "donation/donation.h"
#include "donation/record.h"

namespace donation {
namespace {

std::string text_of(const Gift& gift) {
  skald::Message message;
  message.event = announcement_of(gift, "d-1", "e-1", "");
  return announcement_text(message);
}

TEST(Announcement, TellsWhoGaveWhat) {
  EXPECT_EQ(text_of({"r-1", "kim", 1250, "EUR", "thank you"}), "kim gave 12.50 EUR: thank you");
  EXPECT_EQ(text_of({"r-1", "kim", 5, "EUR", std::nullopt}), "kim gave 0.05 EUR");
}

TEST(Announcement, KnowsCurrenciesWithOtherMinorUnits) {
  EXPECT_EQ(text_of({"r-1", "kim", 500, "KRW", ""}), "kim gave 500 KRW");
  EXPECT_EQ(text_of({"r-1", "kim", 500, "KWD", ""}), "kim gave 0.500 KWD");
}

TEST(Announcement, StaysOnOneLine) {
  EXPECT_EQ(text_of({"r-1", "kim", 100, "EUR", "a\nb\tc"}), "kim gave 1.00 EUR: a b c");
}

TEST(Announcement, AnEventThatIsNoDonationIsRefused) {
  skald::Message message;
  message.event.payload = R"({"something":"else"})";
  EXPECT_THROW(announcement_text(message), skald::Invalid);
}

TEST(Announcement, ADonationOfALaterVersionIsAnnouncedByThisOne) {
  skald::Message message;
  message.event.payload = R"({"requestId":"r-1","donor":"kim","amount":500,"currency":"EUR","campaign":{"id":7}})";
  EXPECT_EQ(announcement_text(message), "kim gave 5.00 EUR");
}

TEST(Announcement, TheSameDonationAlwaysGivesTheSameBytes) {
  const Gift gift{"r-1", "kim", 1250, "EUR", "\"quoted\""};
  EXPECT_EQ(announcement_of(gift, "d-1", "e-1", "").payload,
            announcement_of(skald::from_json<Gift>(skald::to_json(gift)), "d-1", "e-1", "").payload);
}

}  // namespace
}  // namespace donation
