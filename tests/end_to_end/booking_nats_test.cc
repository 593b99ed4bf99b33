// The booking system over a NATS server that loses what it has acknowledged.
#include "bus/nats/nats_fixture.h"
#include "end_to_end/booking_site.h"

namespace skald::test {
namespace {

using booking::BookingView;
using booking::Status;

class BookingOverNats : public BookingTest {
 protected:
  void book_some(int count) {
    for (int i = 0; i < count; ++i) made_.push_back(book(slot_, 1));
  }
  void all_confirmed() {
    for (const BookingView& one : made_) becomes(one.id, Status::CONFIRMED);
    EXPECT_EQ(slot(slot_).booked_players, static_cast<std::int64_t>(made_.size()));
    expect_invariants();
    for (const BookingView& one : made_) EXPECT_THAT(told(one.id), testing::ElementsAre("CONFIRMED"));
  }
  // Everything that booking has to say is said.
  void until_published() {
    until([this] { return count(booking_, "SELECT COUNT(*) FROM skald_outbox WHERE live = 1") == 0; }, "all is sent");
  }
  void until_buses_are(bool up) {
    until(
        [&] {
          return std::ranges::all_of(std::array{&booking_, &course_, &notify_},
                                     [&](host::Unit* unit) { return unit->engine->buses_up() == up; });
        },
        "the buses are seen");
  }

  std::string slot_ = offer(100);
  std::vector<BookingView> made_;
};
INSTANTIATE_TEST_SUITE_P(Deployed, BookingOverNats, testing::Values(Deployment::distributed), name_of);

TEST_P(BookingOverNats, WhatIsBookedWhileTheServerIsAwayIsConfirmedAfterwards) {
  book_some(10);
  nats_->stop();
  until_buses_are(false);
  book_some(10);
  EXPECT_EQ(show(made_.back().id).status, Status::PENDING);
  nats_->start();
  all_confirmed();
  until_buses_are(true);
  EXPECT_EQ(count(booking_, "SELECT COUNT(*) FROM skald_dead_letter"), 0);
}

TEST_P(BookingOverNats, AServerThatComesBackEmptyIsGivenWhatItHadAcknowledged) {
  settle();
  refuse_arrivals(true);
  book_some(20);
  until_published();  // the server alone has it now
  nats_->stop();
  nats_->store().empty();
  nats_->start();
  refuse_arrivals(false);
  book_some(10);
  all_confirmed();
}

TEST_P(BookingOverNats, AServerThatIsEmptiedAmidBookingsLosesNone) {
  for (int round = 0; round < 3; ++round) {
    book_some(10);
    nats_->stop();
    nats_->store().empty();
    book_some(5);
    nats_->start();
    book_some(5);
  }
  all_confirmed();
}

TEST_P(BookingOverNats, ConsumersThatAreAheadOfTheirStreamGetWhatIsNew) {
  settle();
  nats_->stop_cleanly();
  nats_->store().save();
  nats_->start();
  book_some(20);
  for (const BookingView& one : made_) becomes(one.id, Status::CONFIRMED);
  settle();
  nats_->stop_cleanly();
  for (const char* topic : {"booking", "course"}) nats_->store().restore_messages(nats_stream(topic));
  nats_->start();
  book_some(20);
  all_confirmed();
}

TEST_P(BookingOverNats, WhoStartsAgainGivesWhatTheServerHasLostMeanwhile) {
  settle();
  refuse_arrivals(true);
  book_some(10);
  until_published();
  nats_->stop();
  nats_->store().empty();
  refuse_arrivals(false);
  restart();  // nobody is left who saw the old server
  nats_->start();
  all_confirmed();
}

TEST_P(BookingOverNats, WhatIsNoEventIsKeptForAPersonAndHoldsNothingUp) {
  const int partition = partition_of(made_.emplace_back(book(slot_, 1)).id);
  NatsPeer(nats_->url()).publish(nats_subject("course", partition), "nonsense");
  book_some(5);
  all_confirmed();
  until([this] { return count(booking_, "SELECT COUNT(*) FROM skald_dead_letter WHERE reason = 'UNREADABLE'") == 1; },
        "the dead letter");
}

}  // namespace
}  // namespace skald::test
