#include "donation/paths.h"

#include <charconv>

#include "donation/validation.h"
#include "skald/conditions.h"
#include "skald/id.h"

namespace donation {
namespace {

using skald::Access;
using skald::Engine;
using skald::Invalid;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

std::optional<std::string> donor_filter(const Request& request) {
  auto donor = request.query_value("donor");
  if (donor && !is_donor(*donor))
    throw Invalid("BAD_DONOR", "donor must be 1 to 100 characters without control characters");
  return donor;
}

struct ListPosition {
  std::int64_t created_at = 0;
  std::string request_id;
};

std::optional<ListPosition> position_of(const Page& page) {
  if (!page.cursor) return std::nullopt;
  const auto parts = page.after(2);
  ListPosition position{0, parts[1]};
  const auto [end, error] = std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), position.created_at);
  if (error != std::errc() || end != parts[0].data() + parts[0].size() || !is_request_id(position.request_id))
    throw Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  return position;
}

// Newest first.
std::vector<Donation> list_donations(Transaction& tx, const Request& request, const Page& page) {
  const auto donor = donor_filter(request);
  const auto status = skald::enum_filter<Status>(request, "status", "BAD_STATUS");
  const auto position = position_of(page);
  skald::Conditions conditions;
  if (donor) conditions.add("donor = " + conditions.bind(*donor));
  if (status) conditions.add("status = " + conditions.bind(*status));
  if (status && *status != Status::ANNOUNCED)
    conditions.add("status <> 'ANNOUNCED'");  // lets SQLite use the partial index
  if (position) {
    const std::string created = conditions.bind(position->created_at), id = conditions.bind(position->request_id);
    conditions.add("(created_at, request_id) < (" + created + ", " + id + ")");
  }
  const std::string limit = conditions.bind(page.limit + 1);
  return tx.select<Donation>(conditions.where() + " ORDER BY created_at DESC, request_id DESC LIMIT " + limit,
                             conditions.params());
}

}  // namespace

// Inserting first makes the unique id decide between two that come at once.
Taken take(Engine& engine, skald::Env env, Transaction& tx, const Gift& gift, const std::string& traceparent) {
  check(gift);
  const skald::Time now = env.clock.now();  // the database's would cost a round trip before the first statement
  skald::Event event = announcement_of(gift, skald::make_id(now, env.random), traceparent);
  const Donation fresh{.request_id = gift.request_id,
                       .donor = gift.donor,
                       .amount = gift.amount,
                       .currency = gift.currency,
                       .message = gift.message,
                       .status = Status::ACCEPTED,
                       .event_id = event.id,
                       .content_hash = engine.content_hash(event),
                       .outcome_at = std::nullopt,
                       .created_at = now,
                       .version = 0};
  const bool inserted =
      !tx.query(
             "INSERT INTO donation (request_id, donor, amount, currency, message, status, event_id, content_hash, "
             "created_at, version) "
             "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, 0) ON CONFLICT (request_id) DO NOTHING RETURNING request_id",
             fresh.request_id, fresh.donor, fresh.amount, fresh.currency, fresh.message, fresh.status, fresh.event_id,
             fresh.content_hash, fresh.created_at)
           .empty();
  if (inserted) {
    tx.emit(std::move(event));
    return {view_of(fresh, std::nullopt), true};
  }
  const auto first = tx.find<Donation>(gift.request_id);
  if (!first)
    throw skald::Stale("DONATION_GONE", "the donation with this requestId was removed just now; send it again");
  if (gift_of(*first) != gift)
    throw Invalid("REQUEST_ID_REUSED",
                  "requestId " + gift.request_id + " was used for a donation with other fields; take a new one");
  return {view_of(*first, engine.find_entry(tx, first->event_id)), false};
}

void add_donation_paths(Engine& engine, skald::Router& router, skald::Env env) {
  skald::Database& db = engine.database();

  router.post(db, "/donation/donations", Access::customer, skald::describe<Gift, DonationView>("Take a donation", 201),
              [&engine, env](const Request& request, Transaction& tx) {
                const Taken taken = take(engine, env, tx, request.as<Gift>(), request.traceparent);
                return Response::json(taken.fresh ? 201 : 200, taken.view);
              });

  // A donation has no owner, so that a list of them is for admins only.
  router.get("/donation/donations", Access::admin,
             skald::describe<void, skald::Listing<DonationView>>("Donations, newest first", 200, {"donor", "status"}),
             [&engine, &db](const Request& request) {
               const Page page = Page::of(request);
               std::vector<DonationView> views;
               db.read([&](Transaction& tx) {
                 views.clear();
                 for (const Donation& donation : list_donations(tx, request, page))
                   views.push_back(view_of(donation, engine.find_entry(tx, donation.event_id)));
               });
               return Response::json(200, page.cut(std::move(views), [](const DonationView& last) {
                 return Page::cursor_at({std::to_string(skald::to_micros(last.created_at)), last.request_id});
               }));
             });

  router.get("/donation/donations/{requestId}", Access::customer,
             skald::describe<void, DonationView>("A donation with its outbox entry"),
             [&engine, &db](const Request& request) {
               const std::string& id = request.param("requestId");
               return db.read_result([&](Transaction& tx) {
                 const auto donation = is_request_id(id) ? tx.find<Donation>(id) : std::nullopt;
                 if (!donation) throw skald::NotFound("DONATION_NOT_FOUND", "there is no donation with this requestId");
                 return Response::json(200, view_of(*donation, engine.find_entry(tx, donation->event_id)));
               });
             });
}

}  // namespace donation
