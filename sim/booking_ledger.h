// What must hold of bookings, seats, money and messages:
//   B1 0 <= booked <= max, booked is the sum of the live reservations, CLOSED stays CLOSED
//   B2 seats as booked: CONFIRMED and RESERVED with the same players, FAILED and CANCELLED without
//   B3 no reservation without a booking
//   B4 each entry of the ledger balances; charged once when confirmed, refunded as promised
//   B5 customers hear of each state once, and of the final one
//   B6 the history tells every change, in an order that may be
//   B7 everything comes to its end
//   B8 /booking/invariants has nothing to say against it
//   B9 what a customer was told of a request holds
//   B10 the copy of the slots is what course has
//   B11 seats are given back under one id
//   B12 both ends of every lane agree in the end, and nobody is told of a restored database
//   B13 events of a key are handled in their order
//   B14 each event is handled once
// Every check throws BrokenInvariant.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "booking/record.h"
#include "sim/booking_site.h"

namespace skald::sim {

class BookingLedger {
 public:
  BookingLedger(Stage& stage, BookingDisks& disks) : stage_(stage), disks_(disks) {}

  // A notification has reached its customer.
  void heard(const Message& message);
  // A customer or an admin was told that this booking is cancelled.
  void cancelled(const std::string& booking) { cancelled_.insert(booking); }

  // After a commit of course.
  void check_seats();
  // What is still under way; empty: quiet.
  std::string unfinished();
  // `releases`: the ids that each booking's release was sent under.
  void check_end(const std::map<std::string, std::set<std::string>>& releases);

 private:
  struct Seats {
    std::string status;
    std::int64_t booked = 0;
  };
  // What is known of a booking when all is over.
  struct Story {
    booking::Booking booking;
    std::vector<booking::History> history;
    bool happened(booking::Happening what) const;
  };

  std::vector<Story> stories();
  void check_given_back(const Story& story);
  void check_reservations(const std::vector<Story>& stories);
  void check_money(const Story& story, Transaction& tx);
  void check_history(const Story& story);
  void check_told(const Story& story);
  void check_copy();
  void check_handling();
  void mark(const Story& story);

  Stage& stage_;
  BookingDisks& disks_;
  std::map<std::string, Seats> slots_;
  std::map<std::string, std::map<std::string, std::set<std::string>>> heard_;   // booking -> kind -> ids
  std::set<std::string> cancelled_;
};

}  // namespace skald::sim
