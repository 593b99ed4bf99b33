// What this service adds to the story of a booking: its history and its money.
#include "booking/desk.h"
#include "booking/number.h"
#include "booking/record.h"

namespace booking {
namespace {

using skald::StoryPart;
using skald::Transaction;

std::optional<Booking> booking_called(Transaction& tx, const std::string& name) {
  if (!is_number(name)) return tx.find<Booking>(name);
  auto found = tx.select<Booking>("WHERE number = $1", name);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

std::vector<StoryPart> tell(Transaction& tx, const std::string& name) {
  const auto booking = booking_called(tx, name);
  if (!booking) return {};
  StoryPart out;
  out.names = {booking->id, booking->number};
  out.owner = booking->customer;
  for (const History& one : tx.select<History>("WHERE booking_id = $1 ORDER BY seq", booking->id))
    out.lines.push_back({one.at, "history", std::string(skald::enum_name(one.what)) + " by " + one.actor, booking->id,
                         one.message ? one.message : one.code});
  const skald::Rows money =
      tx.query("SELECT id, kind, at FROM booking_entry WHERE booking_id = $1 ORDER BY at, id", booking->id);
  for (std::size_t i = 0; i < money.size(); ++i)
    out.lines.push_back({skald::from_micros(money.get<std::int64_t>(i, 2)),
                         "ledger",
                         money.get<std::string>(i, 1),
                         money.get<std::string>(i, 0),
                         {}});
  return {out};
}

}  // namespace

void add_story(const DeskHandle& desk) { desk->engine.tell(tell); }

}  // namespace booking
