// The booking system over a NATS server that goes, comes back empty, and carries nonsense.
#include "bus/nats/nats_fixture.h"
#include "bus/nats/nats_post.h"
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
    for (const host::Unit* unit : {&booking_, &course_, &notify_})
      EXPECT_EQ(count(*unit, "SELECT COUNT(*) FROM skald_dead_letter"), 0) << unit->service;
  }
  void until_buses_are(bool up) {
    until(
        [&] {
          return std::ranges::all_of(std::array{&booking_, &course_, &notify_},
                                     [&](host::Unit* unit) { return unit->engine->buses_up() == up; });
        },
        "the connections are seen");
  }
  std::string trouble_with(const std::string& name) {
    for (const SubscriberView& view : booking_.engine->subscribers())
      if (view.name == name) return view.trouble;
    return "there is no such subscriber";
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

TEST_P(BookingOverNats, AReceiverThatIsBusySpendsNoAttemptAndIsNamed) {
  refuse_arrivals(true);
  book_some(20);
  until([this] { return trouble_with("course") == "it says that it is busy"; }, "the trouble with course");
  EXPECT_EQ(trouble_with("notify"), "");
  EXPECT_EQ(count(booking_, "SELECT COUNT(*) FROM skald_outbox WHERE source = '' AND attempts > 0"), 0);
  refuse_arrivals(false);
  all_confirmed();
  EXPECT_EQ(trouble_with("course"), "");
}

TEST_P(BookingOverNats, WhoStartsAgainSendsWhatItsReceiverDidNotTake) {
  refuse_arrivals(true);
  book_some(10);
  nats_->stop();
  nats_->store().empty();
  restart();  // nobody is left who remembers a letter
  refuse_arrivals(false);
  nats_->start();
  all_confirmed();
}

TEST_P(BookingOverNats, WhatIsNoLetterHoldsNothingUp) {
  const int partition = partition_of(made_.emplace_back(book(slot_, 1)).id);
  NatsPeer peer(nats_->url());
  peer.publish(post_subject("booking", partition), "nonsense");
  peer.publish(post_question_subject("booking"), "{}");
  book_some(5);
  all_confirmed();
}

}  // namespace
}  // namespace skald::test
