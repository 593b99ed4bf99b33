// GET /booking/ledger
#include "booking/desk.h"

namespace booking {
namespace {

using skald::Page;
using skald::Request;
using skald::Transaction;

struct Posting {
  std::string account;
  std::int64_t amount = 0;
  std::string currency;
};
BOOST_DESCRIBE_STRUCT(Posting, (), (account, amount, currency))

struct EntryView {
  std::string id, booking_id, kind;
  skald::Time at{};
  std::vector<Posting> postings;
};
BOOST_DESCRIBE_STRUCT(EntryView, (), (id, booking_id, kind, at, postings))

// In the order of their ids, which is the bookings'. Customers get their own.
std::vector<EntryView> entries(Transaction& tx, const Request& request, const Page& page) {
  const std::string booking_id = request.query_value("bookingId").value_or("");
  const std::string owner = request.caller.may_see("") ? "" : request.caller.subject;
  const skald::Rows rows = tx.query(
      "SELECT e.id, e.booking_id, e.kind, e.at FROM booking_entry e JOIN booking_record b ON b.id = e.booking_id "
      "WHERE ($1 = '' OR e.booking_id = $1) AND ($2 = '' OR b.customer = $2) AND e.id > $3 ORDER BY e.id LIMIT $4",
      booking_id, owner, page.after(1)[0], page.limit + 1);
  std::vector<EntryView> out;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    EntryView entry{rows.get<std::string>(i, 0),
                    rows.get<std::string>(i, 1),
                    rows.get<std::string>(i, 2),
                    rows.get<skald::Time>(i, 3),
                    {}};
    const skald::Rows postings = tx.query(
        "SELECT account, amount, currency FROM booking_posting WHERE entry_id = $1 ORDER BY account", entry.id);
    for (std::size_t p = 0; p < postings.size(); ++p)
      entry.postings.push_back(
          {postings.get<std::string>(p, 0), postings.get<std::int64_t>(p, 1), postings.get<std::string>(p, 2)});
    out.push_back(std::move(entry));
  }
  return out;
}

}  // namespace

void add_ledger_path(const DeskHandle& desk, skald::Router& router) {
  router.get(
      "/booking/ledger", skald::Access::customer,
      skald::describe<void, skald::Listing<EntryView>>("Charges and refunds, in double entry", 200, {"bookingId"}),
      [desk](const Request& request) {
        const Page page = Page::of(request);
        auto rows = desk->db().read_result([&](Transaction& tx) { return entries(tx, request, page); });
        return skald::Response::json(
            200, page.cut(std::move(rows), [](const EntryView& last) { return Page::cursor_at({last.id}); }));
      });
}

}  // namespace booking
