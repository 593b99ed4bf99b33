#include "notify/paths.h"

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

// Others' notifications are not there for a customer: no refusal tells of a booking.
std::vector<Notification> select_notifications(Transaction& tx, const Request& request, const Page& page) {
  const std::string& booking = request.param("id");
  const std::string after = page.after(1)[0];
  if (booking.size() > kIdMax || booking.find('\0') != booking.npos) return {};
  if (request.caller.role == skald::Role::customer)
    return tx.select<Notification>("WHERE booking_id = $1 AND id > $2 AND customer = $3 ORDER BY id LIMIT $4", booking,
                                   after, request.caller.subject, page.limit + 1);
  return tx.select<Notification>("WHERE booking_id = $1 AND id > $2 ORDER BY id LIMIT $3", booking, after,
                                 page.limit + 1);
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
