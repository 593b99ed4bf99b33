#include "donation/reconciliation.h"

#include <gtest/gtest.h>

namespace donation {
namespace {

using skald::EntryStatus;

// An announced donation with its completed entry.
Case announced() {
  Case out;
  out.donation = {.request_id = "r-1",
                  .donor = "kim",
                  .owner = "kim",
                  .asked_id = "asked-1",
                  .amount = 500,
                  .currency = "EUR",
                  .message = "hi",
                  .status = Status::ANNOUNCED,
                  .event_id = "e-1",
                  .content_hash = "h",
                  .replaces = std::nullopt,
                  .outcome_at = skald::from_micros(1),
                  .untold = std::nullopt,
                  .created_at = {},
                  .version = 1};
  const skald::Event event = announcement_of(out.donation);
  out.entry = Counterpart{EntryStatus::COMPLETED, event.key, event.subject, event.payload, "h", {}};
  return out;
}

template <class F>
std::vector<Kind> judged(F&& change) {
  Case given = announced();
  change(given);
  return judge(given);
}

using Kinds = std::vector<Kind>;

TEST(Judge, AgreementIsNoDifference) { EXPECT_EQ(judge(announced()), Kinds{}); }

TEST(Judge, AnAnnouncedDonationNeedsNoEntryAnyMore) {
  EXPECT_EQ(judged([](Case& c) { c.entry.reset(); }), Kinds{});
  EXPECT_EQ(judged([](Case& c) {
              c.entry.reset();
              c.donation.outcome_at.reset();
            }),
            Kinds{Kind::MISSING_ENTRY});
}

TEST(Judge, ADonationThatNobodyIsToldOfStaysAccepted) {
  const auto untold = [](Case& c) {
    c.donation.status = Status::ACCEPTED;
    c.donation.untold = 1;
  };
  EXPECT_EQ(judged(untold), Kinds{});
  EXPECT_EQ(judged([&](Case& c) {
              untold(c);
              c.entry.reset();
            }),
            Kinds{});
}

TEST(Judge, AnOpenDonationNeedsItsEntry) {
  EXPECT_EQ(judged([](Case& c) {
              c.entry.reset();
              c.donation.status = Status::ACCEPTED;
            }),
            Kinds{Kind::MISSING_ENTRY});
}

TEST(Judge, AnUndeliveredDonationNeedsAnEntryOrItsDeadLetter) {
  const auto undelivered = [](Case& c) {
    c.entry.reset();
    c.donation.status = Status::UNDELIVERED;
  };
  EXPECT_EQ(judged(undelivered), Kinds{Kind::MISSING_ENTRY});
  EXPECT_EQ(judged([&](Case& c) {
              undelivered(c);
              c.has_dead_letter = true;
            }),
            Kinds{});
}

TEST(Judge, EveryFieldOfTheContentCounts) {
  EXPECT_EQ(judged([](Case& c) { c.entry->payload += ' '; }), Kinds{Kind::CONTENT_DISAGREES});
  EXPECT_EQ(judged([](Case& c) { c.entry->key = "lee"; }), Kinds{Kind::CONTENT_DISAGREES});
  EXPECT_EQ(judged([](Case& c) { c.entry->subject = "r-2"; }), Kinds{Kind::CONTENT_DISAGREES});
  EXPECT_EQ(judged([](Case& c) { c.entry->content_hash = "g"; }), Kinds{Kind::CONTENT_DISAGREES});
  EXPECT_EQ(judged([](Case& c) { c.donation.amount = 501; }), Kinds{Kind::CONTENT_DISAGREES});
}

TEST(Judge, TheStatusFollowsTheEntry) {
  for (const EntryStatus live : {EntryStatus::PENDING, EntryStatus::PROCESSING, EntryStatus::FAILED})
    EXPECT_EQ(judged([&](Case& c) { c.entry->status = live; }), Kinds{Kind::STATUS_DISAGREES});
  EXPECT_EQ(judged([](Case& c) { c.donation.outcome_at.reset(); }), Kinds{Kind::STATUS_DISAGREES});
}

TEST(Judge, ADeadLetterExplainsADeadEntry) {
  const auto dead = [](Case& c) {
    c.entry->status = EntryStatus::DEAD_LETTER;
    c.donation.status = Status::UNDELIVERED;
  };
  EXPECT_EQ(judged(dead), Kinds{Kind::UNEXPLAINED_END});
  EXPECT_EQ(judged([&](Case& c) {
              dead(c);
              c.has_dead_letter = true;
            }),
            Kinds{});
}

TEST(Report, ListsAreBoundedAndCountsAreNot) {
  Report first, second;
  for (int i = 0; i < 40; ++i) first.note(Kind::ORPHAN_ENTRY, "a", false);
  for (int i = 0; i < 40; ++i) second.note(Kind::ORPHAN_ENTRY, "b", i % 2 == 0);
  first.add(second);
  EXPECT_EQ(first.count_of(Kind::ORPHAN_ENTRY), 80);
  EXPECT_EQ(first.repaired(), 20);
  EXPECT_EQ(first.differences.at(0).ids.size(), 50u);
}

}  // namespace
}  // namespace donation
