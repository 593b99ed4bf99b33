// What happens to one booking: as a list, and as a stream that ends with it.
#include "booking/desk.h"
#include "booking/record.h"

namespace booking {
namespace {

using skald::Access;
using skald::Page;
using skald::Request;
using skald::Transaction;

constexpr std::size_t kPartMax = 100;

std::vector<History> history_after(Transaction& tx, const std::string& id, std::int64_t after, std::size_t most) {
  return tx.select<History>("WHERE booking_id = $1 AND seq > $2 ORDER BY seq LIMIT $3", id, after, most);
}

// Nothing can happen to it any more.
bool is_over(const Booking& booking) {
  const bool final = booking.status != Status::PENDING && booking.status != Status::CONFIRMED;
  return final && (!booking.release_sent || booking.released_at.has_value());
}

std::int64_t number_in(std::string_view text) {
  if (text.empty() || text.size() > 18 || text.find_first_not_of("0123456789") != text.npos) return 0;
  return std::stoll(std::string(text));
}

skald::Stream stream_of(const DeskHandle& desk, const std::string& id, std::int64_t seen) {
  const auto next = [desk, id, seen, over = false]() mutable -> std::optional<std::string> {
    if (over) return std::nullopt;
    std::string text;
    desk->db().read([&](Transaction& tx) {
      text.clear();
      const auto booking = tx.find<Booking>(id);
      const auto fresh = history_after(tx, id, seen, kPartMax);
      for (const History& one : fresh)
        text += "id: " + std::to_string(one.seq) + "\nevent: " + std::string(skald::enum_name(one.what)) +
                "\ndata: " + skald::to_json(one) + "\n\n";
      if (!fresh.empty()) seen = fresh.back().seq;
      over = !booking || (is_over(*booking) && fresh.size() < kPartMax);
    });
    if (over && text.empty()) return std::nullopt;
    return text;
  };
  return {"booking/" + id, next};
}

}  // namespace

void add_booking_events(const DeskHandle& desk, skald::Router& router) {
  router.get("/booking/bookings/{id}/history", Access::customer,
             skald::describe<void, skald::Listing<History>>("What happened to a booking, in order"),
             [desk](const Request& request) {
               const Page page = Page::of(request);
               auto rows = desk->db().read_result([&](Transaction& tx) {
                 return history_after(tx, booking_of(tx, request).id, number_in(page.after(1)[0]), page.limit + 1);
               });
               return skald::Response::json(200, page.cut(std::move(rows), [](const History& last) {
                 return Page::cursor_at({std::to_string(last.seq)});
               }));
             });
  skald::Doc doc = skald::describe<void, void>("What happens to a booking, as it happens");
  doc.content_type = "text/event-stream";
  router.stream("/booking/bookings/{id}/events", Access::customer, doc, [desk](const Request& request) {
    const std::string id = desk->db().read_result([&](Transaction& tx) { return booking_of(tx, request).id; });
    return stream_of(desk, id, number_in(request.header("last-event-id")));
  });
}

}  // namespace booking
