#include "notify/paths.h"

#include <algorithm>

#include "notify/record.h"

namespace notify {
namespace {

using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

NotificationView view_of(const Notification& row) {
  return {row.id, row.booking_id, row.kind, row.text, row.channel, row.at};
}

// Others' notifications are not there for a customer: no refusal tells of a booking. In the
// order in which they were told; one transaction may tell of several, at one time. There is one
// of each kind at most, so all of them are read.
std::vector<Notification> select_notifications(Transaction& tx, const Request& request, const Page& page) {
  const std::string& booking = request.param("id");
  if (booking.size() > kIdMax || booking.find('\0') != booking.npos) return {};
  auto rows = tx.select<Notification>("WHERE booking_id = $1", booking);
  std::erase_if(rows, [&](const Notification& row) { return !request.caller.may_see(row.customer); });
  std::ranges::sort(rows, {}, [](const Notification& row) { return std::pair(row.at, row.kind); });
  const auto last = std::ranges::find(rows, page.after(1)[0], &Notification::id);
  if (last != rows.end()) rows.erase(rows.begin(), last + 1);
  return rows;
}

}  // namespace

void add_paths(skald::Database& db, skald::Router& router) {
  router.get("/booking/bookings/{id}/notifications", skald::Access::customer,
             skald::describe<void, skald::Listing<NotificationView>>("What the customer was told of a booking"),
             [&db](const Request& request) {
               const Page page = Page::of(request);
               std::vector<NotificationView> views;
               db.read([&](Transaction& tx) {
                 views.clear();
                 for (const Notification& row : select_notifications(tx, request, page)) views.push_back(view_of(row));
               });
               return Response::json(200, page.cut(std::move(views), [](const NotificationView& last) {
                 return Page::cursor_at({last.id});
               }));
             });
}

}  // namespace notify
