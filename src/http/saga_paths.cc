// GET /api/sagas and /{id}; POST /{id}/retry, /{id}/compensate, /{id}/signal.
#include "http/engine_paths.h"
#include "skald/controls.h"

namespace skald::http {
namespace {

constexpr std::size_t kNameBytesMax = 200;

// As SagaView, but that the key is always there.
struct SagaBody {
  std::string id, type, key;
  SagaStatus status{};
  std::string step;
  RawJson state;
  Time started_at{};
  std::optional<Time> finished_at, wakes_at;
  std::optional<SagaError> error;
  std::optional<std::string> parent;
  std::vector<StepView> steps;
};
BOOST_DESCRIBE_STRUCT(SagaBody, (),
                      (id, type, key, status, step, state, started_at, finished_at, wakes_at, error, parent, steps))

struct Compensation {
  std::string reason;
};
BOOST_DESCRIBE_STRUCT(Compensation, (), (reason))

struct Signal {
  std::string name;
  std::optional<RawJson> payload;
  std::optional<std::string> id;  // the same id again is the same signal
};
BOOST_DESCRIBE_STRUCT(Signal, (), (name, payload, id))

}  // namespace
}  // namespace skald::http

template <>
struct skald::Limits<skald::http::Compensation> {
  static constexpr skald::MemberLimit of[] = {{"reason", 1, skald::http::kReasonBytesMax}};
};
template <>
struct skald::Limits<skald::http::Signal> {
  static constexpr skald::MemberLimit of[] = {{"name", 1, skald::http::kNameBytesMax},
                                              {"id", 1, skald::http::kNameBytesMax}};
};

namespace skald::http {
namespace {

SagaBody body_of(SagaView view) {
  return {.id = std::move(view.id),
          .type = std::move(view.type),
          .key = view.key.value_or(""),
          .status = view.status,
          .step = std::move(view.step),
          .state = std::move(view.state),
          .started_at = view.started_at,
          .finished_at = view.finished_at,
          .wakes_at = has_ended(view.status) ? std::nullopt : view.wakes_at,
          .error = std::move(view.error),
          .parent = std::move(view.parent),
          .steps = std::move(view.steps)};
}

std::optional<SagaBody> find(Engine& engine, Transaction& tx, const std::string& id) {
  auto found = engine.sagas().find(tx, id);
  return found ? std::optional(body_of(std::move(*found))) : std::nullopt;
}

[[noreturn]] void refuse_unknown_saga() { throw NotFound("SAGA_NOT_FOUND", "there is no saga with this id"); }

std::vector<SagaBody> sagas(Engine& engine, const Request& request, const Position& after, std::size_t limit) {
  const SagaFilter filter{.status = enum_filter<SagaStatus>(request, "status"),
                          .type = request.query_value("type"),
                          .key = request.query_value("key"),
                          .after = unless_empty(after[0]),
                          .limit = static_cast<int>(limit),
                          .code = request.query_value("code")};
  return engine.database().read_result([&](Transaction& tx) {
    std::vector<SagaBody> out;
    for (SagaView& view : engine.sagas().list(tx, filter)) out.push_back(body_of(std::move(view)));
    return out;
  });
}

Response show_saga(const Engines& engines, const Request& request) {
  const auto found = find_first(engines, request,
                                [&](Engine& engine, Transaction& tx) { return find(engine, tx, request.param("id")); });
  if (!found) refuse_unknown_saga();
  return Response::json(200, *found);
}

bool is_text(const std::string& text, std::size_t bytes_max, std::string_view allowed = {}) {
  return !text.empty() && text.size() <= bytes_max && !has_controls(text, allowed);
}

void retry(Engine& engine, const Request& request, Transaction& tx) {
  engine.sagas().retry(tx, request.param("id"), request.caller.subject);
}

void compensate(Engine& engine, const Request& request, Transaction& tx) {
  const auto wish = request.as<Compensation>();
  if (!is_text(wish.reason, kReasonBytesMax, kLineBreaks))
    throw Invalid("BAD_REASON", "reason must say why, in 1 to 500 bytes without control characters");
  engine.sagas().compensate(tx, request.param("id"), request.caller.subject, wish.reason);
}

// A signal without an id is one of its own, whatever was sent before.
void signal(Engine& engine, const Request& request, Transaction& tx) {
  const auto wish = request.as<Signal>();
  if (!is_text(wish.name, kNameBytesMax))
    throw Invalid("BAD_SIGNAL", "name must have 1 to 200 bytes without control characters");
  if (wish.id && !is_text(*wish.id, kNameBytesMax))
    throw Invalid("BAD_SIGNAL", "id must have 1 to 200 bytes without control characters");
  engine.sagas().signal(tx, request.param("id"), wish.name, wish.payload ? wish.payload->text : "null",
                        wish.id.value_or(request.request_id), request.caller.subject);
}

using Change = void (*)(Engine&, const Request&, Transaction&);

WriteChoice changed_by(const Engines& engines, Change change) {
  return decide_where_known(
      engines,
      [](Engine& engine, Transaction& tx, const std::string& id) { return engine.sagas().find(tx, id).has_value(); },
      [change](const ServiceEngine& of, const Request& request, Transaction& tx) {
        change(of.engine, request, tx);
        auto body = find(of.engine, tx, request.param("id"));
        if (!body) refuse_unknown_saga();
        return Response::json(200, OfService<SagaBody>{std::move(*body), of.service});
      });
}

}  // namespace

void add_saga_paths(Routes& routes, const Engines& engines) {
  add_list<SagaBody>(routes, engines, "/api/sagas", "Sagas and how far they are, newest first",
                     {"status", "type", "key", "code"},
                     {.rows = sagas, .position = [](const SagaBody& row) { return Position{row.id}; }});
  routes.get("/api/sagas/{id}", Access::admin,
             describe<void, OfService<SagaBody>>("One saga with its state and steps", 200, {"service"}),
             [engines](const Request& request) { return show_saga(engines, request); });
  routes.post("/api/sagas/{id}/retry", Access::admin,
              describe<void, OfService<SagaBody>>("Let a saga that needs help try again", 200, {"service"}),
              changed_by(engines, retry));
  routes.post("/api/sagas/{id}/compensate", Access::admin,
              describe<Compensation, OfService<SagaBody>>("Undo what a saga has done, for a reason", 200, {"service"}),
              changed_by(engines, compensate));
  routes.post("/api/sagas/{id}/signal", Access::admin,
              describe<Signal, OfService<SagaBody>>("Send a saga what it waits for", 200, {"service"}),
              changed_by(engines, signal));
}

}  // namespace skald::http
