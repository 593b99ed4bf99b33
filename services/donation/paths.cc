#include "donation/paths.h"

#include <charconv>

#include "donation/validation.h"
#include "skald/conditions.h"
#include "skald/id.h"

namespace donation {
namespace {

using skald::Access;
using skald::Caller;
using skald::Engine;
using skald::Invalid;
using skald::Page;
using skald::Request;
using skald::Response;
using skald::Transaction;

bool is_staff(const Caller& caller) { return caller.role != skald::Role::customer; }

std::optional<std::string> donor_filter(const Request& request) {
  auto donor = request.query_value("donor");
  if (donor && !is_donor(*donor))
    throw Invalid("BAD_DONOR", "donor must be 1 to 100 characters without control characters");
  return donor;
}

struct ListPosition {
  std::int64_t created_at = 0;
  std::string id;
};

std::optional<ListPosition> position_of(const Page& page) {
  if (!page.cursor) return std::nullopt;
  const auto parts = page.after(2);
  ListPosition position{0, parts[1]};
  const auto [end, error] = std::from_chars(parts[0].data(), parts[0].data() + parts[0].size(), position.created_at);
  if (error != std::errc() || end != parts[0].data() + parts[0].size() || !is_request_id(position.id))
    throw Invalid("BAD_CURSOR", "cursor is not one that this list has given; start again without it");
  return position;
}

// Newest first. A customer's own are found by their donor, which is the customer.
std::vector<Donation> list_donations(Transaction& tx, const Request& request, const Page& page) {
  const auto donor = donor_filter(request), owner = request.query_value("owner");
  const auto status = skald::enum_filter<Status>(request, "status", "BAD_STATUS");
  const auto position = position_of(page);
  skald::Conditions conditions;
  const auto belongs_to = [&](const std::string& subject) {
    conditions.add(std::string(kWhose) + " = " + conditions.bind(subject));
  };
  if (!is_staff(request.caller)) {
    conditions.add("donor = " + conditions.bind(request.caller.subject));
    belongs_to(request.caller.subject);
  }
  if (owner) belongs_to(*owner);
  if (donor) conditions.add("donor = " + conditions.bind(*donor));
  if (status) conditions.add("status = " + conditions.bind(*status));
  if (status && *status != Status::ANNOUNCED)
    conditions.add("status <> 'ANNOUNCED'");  // lets SQLite use the partial index
  if (position) {
    const std::string created = conditions.bind(position->created_at), id = conditions.bind(position->id);
    conditions.add("(created_at, request_id) < (" + created + ", " + id + ")");
  }
  const std::string limit = conditions.bind(page.limit + 1);
  return tx.select<Donation>(conditions.where() + " ORDER BY created_at DESC, request_id DESC LIMIT " + limit,
                             conditions.params());
}

std::optional<Donation> find_of(Transaction& tx, const std::string& owner, const std::string& asked_as) {
  static const std::string tail = "WHERE " + std::string(kAskedAs) + " = $1 AND " + std::string(kWhose) + " = $2";
  auto found = tx.select<Donation>(tail, asked_as, owner);
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

[[noreturn]] void refuse_unknown() {
  throw skald::NotFound("DONATION_NOT_FOUND", "there is no donation with this requestId");
}

// The only one that is asked for like this; an admin's own comes first, so that nobody can take it
// from him by giving under the same id.
Donation find_for_staff(Transaction& tx, const Caller& caller, const std::string& asked_as) {
  constexpr std::size_t named_max = 5;
  static const std::string tail = "WHERE " + std::string(kAskedAs) + " = $1 ORDER BY created_at LIMIT $2";
  if (auto own = find_of(tx, caller.subject, asked_as)) return std::move(*own);
  auto found = tx.select<Donation>(tail, asked_as, named_max);
  if (found.empty()) refuse_unknown();
  if (found.size() == 1) return std::move(found.front());
  std::string owners;
  for (const Donation& one : found) owners += (owners.empty() ? "" : ", ") + one.whose();
  throw skald::Conflict("REQUEST_ID_SHARED",
                        "several customers gave under this requestId (" + owners + "); say whose with ?owner=");
}

Donation find_asked(Transaction& tx, const Request& request) {
  const std::string& id = request.param("requestId");
  const Caller& caller = request.caller;
  if (!is_request_id(id)) refuse_unknown();
  auto owner = request.query_value("owner");
  if (!owner && is_staff(caller)) return find_for_staff(tx, caller, id);
  if (!owner) owner = caller.subject;
  if (!caller.may_see(*owner)) refuse_unknown();
  auto found = find_of(tx, *owner, id);
  if (!found) refuse_unknown();
  return std::move(*found);
}

Gift gift_from(const Caller& giver, const NewDonation& asked) {
  Gift gift{asked.request_id, is_staff(giver) ? asked.donor.value_or("") : giver.subject, asked.amount, asked.currency,
            asked.message};
  check(gift);
  return gift;
}

// Inserting first makes the unique index decide between two that come at once. What the program
// before took has no owner: staff may have taken it, and do not take it again.
bool insert(Transaction& tx, const Donation& fresh, bool staff) {
  return !tx.query(
                "INSERT INTO donation (request_id, donor, owner, asked_id, amount, currency, message, status, "
                "event_id, content_hash, created_at, version) "
                "SELECT CAST($1 AS TEXT), CAST($2 AS TEXT), CAST($3 AS TEXT), CAST($4 AS TEXT), CAST($5 AS BIGINT), "
                "CAST($6 AS TEXT), CAST($7 AS TEXT), CAST($8 AS TEXT), CAST($9 AS TEXT), CAST($10 AS TEXT), "
                "CAST($11 AS BIGINT), 0 "
                "WHERE CAST($12 AS BIGINT) = 0 OR NOT EXISTS "
                "(SELECT 1 FROM donation WHERE request_id = $4 AND owner IS NULL) "
                "ON CONFLICT DO NOTHING RETURNING request_id",
                fresh.request_id, fresh.donor, fresh.owner, fresh.asked_id, fresh.amount, fresh.currency, fresh.message,
                fresh.status, fresh.event_id, fresh.content_hash, fresh.created_at, staff ? 1 : 0)
              .empty();
}

// What was taken under this id before, by this giver or, for staff, by a program without owners.
Donation first_taken(Transaction& tx, const Donation& repeated, bool staff) {
  auto first = find_of(tx, repeated.whose(), repeated.asked_as());
  if (!first && staff) first = tx.find<Donation>(repeated.asked_as());
  if (!first)
    throw skald::Stale("DONATION_GONE", "the donation with this requestId was removed just now; send it again");
  return std::move(*first);
}

}  // namespace

Taken take(Engine& engine, skald::Env env, Transaction& tx, const Caller& giver, const NewDonation& asked,
           const std::string& traceparent) {
  const Gift gift = gift_from(giver, asked);
  const bool staff = is_staff(giver);
  const skald::Time now = env.clock.now();  // the database's would cost a round trip before the first statement
  const std::string id = skald::make_id(now, env.random);
  skald::Event event = announcement_of(gift, id, id, traceparent);
  const Donation fresh{.request_id = id,
                       .donor = gift.donor,
                       .owner = giver.subject,
                       .asked_id = gift.request_id,
                       .amount = gift.amount,
                       .currency = gift.currency,
                       .message = gift.message,
                       .status = Status::ACCEPTED,
                       .event_id = event.id,
                       .content_hash = engine.content_hash(event),
                       .replaces = std::nullopt,
                       .outcome_at = std::nullopt,
                       .untold = std::nullopt,
                       .created_at = now,
                       .version = 0};
  if (insert(tx, fresh, staff)) {
    tx.emit(std::move(event));
    return {view_of(fresh, std::nullopt, staff), true};
  }
  const Donation first = first_taken(tx, fresh, staff);
  if (gift_of(first) != gift)
    throw Invalid("REQUEST_ID_REUSED",
                  "requestId " + gift.request_id + " was used for a donation with other fields; take a new one");
  return {view_of(first, engine.find_entry(tx, first.event_id), staff), false};
}

void add_donation_paths(Engine& engine, skald::Router& router, skald::Env env) {
  skald::Database& db = engine.database();

  router.post(db, "/donation/donations", Access::customer,
              skald::describe<NewDonation, DonationView>("Take a donation; a customer's donor is the customer", 201),
              [&engine, env](const Request& request, Transaction& tx) {
                const Taken taken =
                    take(engine, env, tx, request.caller, request.as<NewDonation>(), request.traceparent);
                return Response::json(taken.fresh ? 201 : 200, taken.view);
              });

  router.get(
      "/donation/donations", Access::customer,
      skald::describe<void, skald::Listing<DonationView>>("Donations, newest first; customers: their own", 200,
                                                          {"donor", "owner", "status"}),
      [&engine, &db](const Request& request) {
        const Page page = Page::of(request);
        std::vector<DonationView> views;
        db.read([&](Transaction& tx) {
          views.clear();
          for (const Donation& donation : list_donations(tx, request, page))
            views.push_back(view_of(donation, engine.find_entry(tx, donation.event_id), is_staff(request.caller)));
        });
        return Response::json(200, page.cut(std::move(views), [](const DonationView& last) {
          return Page::cursor_at({std::to_string(skald::to_micros(last.created_at)), last.id});
        }));
      });

  router.get("/donation/donations/{requestId}", Access::customer,
             skald::describe<void, DonationView>("A donation with its outbox entry", 200, {"owner"}),
             [&engine, &db](const Request& request) {
               return db.read_result([&](Transaction& tx) {
                 const Donation donation = find_asked(tx, request);
                 return Response::json(
                     200, view_of(donation, engine.find_entry(tx, donation.event_id), is_staff(request.caller)));
               });
             });
}

}  // namespace donation
