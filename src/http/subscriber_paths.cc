// GET /api/subscribers and /{id}; POST /{id}/remove.
#include "http/engine_paths.h"
#include "skald/controls.h"

namespace skald::http {
namespace {

struct SubscriberRemoval {
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(SubscriberRemoval, (), (reason))

struct RemovedSubscriber {
  std::string name;
  std::int64_t owed = 0;    // and is no longer: how many events
  bool configured = false;  // so it comes back when the program starts again
};
BOOST_DESCRIBE_STRUCT(RemovedSubscriber, (), (name, owed, configured))

}  // namespace
}  // namespace skald::http

template <>
struct skald::Limits<skald::http::SubscriberRemoval> {
  static constexpr skald::MemberLimit of[] = {{"reason", 1, skald::http::kReasonBytesMax}};
};

namespace skald::http {
namespace {

[[noreturn]] void refuse_unknown_subscriber() {
  throw NotFound("NO_SUCH_SUBSCRIBER", "nobody of this name gets letters of a service that is asked here");
}

std::vector<SubscriberView> subscribers_behind(Engine& engine, const Position& after) {
  auto rows = engine.subscribers();
  std::erase_if(rows, [&](const SubscriberView& row) { return row.name <= after[0]; });
  return rows;
}

Response show_subscriber(const Engines& engines, const Request& request) {
  const auto found = find_first(engines, request, [&](Engine& engine, Transaction& tx) {
    return engine.find_subscriber(tx, request.param("id"));
  });
  if (!found) refuse_unknown_subscriber();
  return Response::json(200, *found);
}

Response remove_subscriber(const ServiceEngine& of, const Request& request, Transaction& tx) {
  const auto wish = request.as<SubscriberRemoval>();
  if (wish.reason.empty() || wish.reason.size() > kReasonBytesMax || has_controls(wish.reason, kLineBreaks))
    throw Invalid("BAD_REASON", "reason must say why, in 1 to 500 bytes without control characters");
  const std::string& name = request.param("id");
  const auto found = of.engine.find_subscriber(tx, name);
  if (!found) refuse_unknown_subscriber();
  const std::int64_t owed = of.engine.remove_subscriber(tx, name, request.caller.subject, wish.reason);
  return Response::json(200, OfService<RemovedSubscriber>{{name, owed, found->configured}, of.service});
}

}  // namespace

void add_subscriber_paths(Routes& routes, const Engines& engines) {
  add_list<SubscriberView>(routes, engines, "/api/subscribers",
                           "The services that get each service's events by the post, and what they are owed", {},
                           {.rows = [](Engine& engine, const Request&, const Position& after,
                                       std::size_t) { return subscribers_behind(engine, after); },
                            .position = [](const SubscriberView& row) { return Position{row.name}; }});
  routes.get(
      "/api/subscribers/{id}", Access::admin,
      describe<void, OfService<SubscriberDetail>>("One subscriber, by its name, with its lanes", 200, {"service"}),
      [engines](const Request& request) { return show_subscriber(engines, request); });
  routes.post("/api/subscribers/{id}/remove", Access::admin,
              describe<SubscriberRemoval, OfService<RemovedSubscriber>>(
                  "Owe it nothing any more, for a reason; says how much it was still owed", 200, {"service"}),
              decide_where_known(
                  engines,
                  [](Engine& engine, Transaction& tx, const std::string& id) {
                    return engine.find_subscriber(tx, id).has_value();
                  },
                  remove_subscriber));
}

}  // namespace skald::http
