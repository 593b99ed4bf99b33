// Customers and admins of the booking system, by chance, over its paths; and the operators,
// who replay dead letters, let old entries go, and send events again that they think are lost.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "sim/booking_ledger.h"
#include "sim/booking_site.h"

namespace skald::sim {

class BookingClients {
 public:
  BookingClients(Stage& stage, BookingDisks& disks, BookingSite& site, BookingLedger& ledger)
      : stage_(stage), disks_(disks), site_(site), ledger_(ledger) {}

  void open_slots();
  void act();
  void operate();
  // Ids of events that operators have sent again begin with it.
  static constexpr std::string_view kAgain = "again-";
  // Dead letters and parked sagas of a service go on; false: there are none.
  bool replay_dead(Service service, BookingUnit& unit);
  // What customers were told of their requests holds.
  void check_end();

 private:
  // One booking that a customer wants, however often it has to ask.
  struct Wish {
    std::string customer, key, body;
    std::string booking;             // as it was answered first
    bool settled = false;
  };
  struct Known {
    std::string id, customer;
  };

  void book();
  void ask(Wish& wish);
  void ask_with_another_body(const Wish& wish);
  void cancel();
  void attend();
  void change_slot();
  void send_again();
  void answer_again();
  std::vector<Known> bookings(std::string_view condition);

  Stage& stage_;
  BookingDisks& disks_;
  BookingSite& site_;
  BookingLedger& ledger_;
  std::vector<std::string> slots_;
  std::vector<Wish> wishes_;
  int sent_again_ = 0;
  std::set<std::string> answered_again_;  // bookings
};

}  // namespace skald::sim
