// Reconciliation on demand and by the hour.
#include "donation/reconciliation.h"
#include "donation/validation.h"

namespace donation {
namespace {

using skald::Request;
using skald::Response;
using skald::Transaction;

// A request is one transaction, which on SQLite keeps all writers waiting: what it
// looks at is bounded, and the answer says where to go on.
constexpr int kPagesPerRequest = 200;

struct ReconcileRequest {
  bool repair = false;
  std::optional<std::string> cursor;
};
BOOST_DESCRIBE_STRUCT(ReconcileRequest, (), (repair, cursor))

struct ReconcileView {
  bool ok = true;  // nothing differs, or all of it was repaired
  std::int64_t donations = 0, entries = 0, found = 0, repaired = 0;
  std::vector<Difference> differences;
  std::optional<std::string> next_cursor;
};
BOOST_DESCRIBE_STRUCT(ReconcileView, (), (ok, donations, entries, found, repaired, differences, next_cursor))

Position position_of(const std::optional<std::string>& cursor) {
  if (!cursor) return {};
  const auto parts = skald::Page{.limit = 1, .cursor = cursor}.after(2);
  Position at{Stage::donations, parts[1]};
  if (!boost::describe::enum_from_string(parts[0].c_str(), at.stage) || (!at.after.empty() && !is_request_id(at.after)))
    throw skald::Invalid("BAD_CURSOR", "cursor is not one that a reconciliation has given; start again without it");
  return at;
}

ReconcileView view_of(const Report& report, const Position& at) {
  ReconcileView view{report.found() == report.repaired(),
                     report.donations,
                     report.entries,
                     report.found(),
                     report.repaired(),
                     report.differences,
                     std::nullopt};
  if (at.stage != Stage::end)
    view.next_cursor = skald::Page::cursor_at({std::string(skald::enum_name(at.stage)), at.after});
  return view;
}

void reconcile_by_the_hour(skald::Engine& engine, const skald::Env& env) {
  const skald::Instant begun = env.clock.steady();
  const Report report = reconcile_all(engine);
  env.observer.timing("donation_reconcile_seconds", env.clock.steady() - begun);
  env.observer.count("donation_differences_repaired_total", report.repaired());
  env.observer.gauge("donation_differences", static_cast<double>(report.found() - report.repaired()));
  if (report.found() > 0)
    env.observer.log(skald::Observer::Level::warn, "donations and their outbox entries differ",
                     "\"differences\":" + skald::to_json(report.differences));
}

}  // namespace

void add_reconciliation(skald::Engine& engine, skald::Router& router, skald::Env env) {
  engine.add_job({.name = "donation.reconcile", .every = std::chrono::hours(1), .run = [&engine, env] {
                    reconcile_by_the_hour(engine, env);
                  }});

  router.post(engine.database(), "/donation/reconcile", skald::Access::admin,
              skald::describe<ReconcileRequest, ReconcileView>("Hold donations against the outbox"),
              [&engine](const Request& request, Transaction& tx) {
                const auto asked = request.as<ReconcileRequest>();
                Position at = position_of(asked.cursor);
                const Repairs repairs{asked.repair, request.caller.subject};
                Report report;
                for (int page = 0; page < kPagesPerRequest && at.stage != Stage::end; ++page)
                  at = reconcile_page(engine, tx, at, repairs, report);
                return Response::json(200, view_of(report, at));
              });
}

}  // namespace donation
