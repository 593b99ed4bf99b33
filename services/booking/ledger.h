// The money of bookings, in double entry: the postings of every entry add up to nothing.
//
// | entry           | customer:NAME | sales  |
// | BOOKING.charge  | -price        | +price |
// | BOOKING.refund  | +refund       | -refund |
#pragma once

#include <string>

#include "booking/record.h"
#include "skald/database.h"

namespace booking {

// Takes and gives money in the transaction that decides on the booking. The embedded ledger
// is the one that there is; another provider that can join a transaction fits in here.
class Payments {
 public:
  virtual ~Payments() = default;
  // False: declined, and nothing was written.
  virtual bool charge(skald::Transaction& tx, const Booking& booking) = 0;
  virtual void refund(skald::Transaction& tx, const Booking& booking, std::int64_t amount) = 0;
};

class Ledger final : public Payments {
 public:
  // What costs more than `charge_max` is declined; 0: nothing is.
  explicit Ledger(std::int64_t charge_max) : charge_max_(charge_max) {}
  bool charge(skald::Transaction& tx, const Booking& booking) override;
  void refund(skald::Transaction& tx, const Booking& booking, std::int64_t amount) override;

 private:
  std::int64_t charge_max_;
};

}  // namespace booking
