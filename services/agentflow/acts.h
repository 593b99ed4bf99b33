// What the paths that ask something of a workflow have in common.
#pragma once

#include <utility>

#include "agentflow/flow.h"
#include "agentflow/views.h"
#include "skald/http.h"

namespace agentflow {

inline Workflow workflow_named(skald::Transaction& tx, const std::string& id) {
  auto workflow = tx.find<Workflow>(id);
  if (!workflow) throw skald::NotFound("WORKFLOW_NOT_FOUND", "there is no workflow with this id");
  return *workflow;
}

inline skald::Response shown(const Flow& flow, int status, const std::string& id) {
  return flow.db().read_result(
      [&](skald::Transaction& tx) { return skald::Response::json(status, view_of(tx, workflow_named(tx, id))); });
}

// What the saga of an act says no to is told with the state as it is now.
[[noreturn]] inline void refuse_by(const Flow& flow, const std::string& id, WorkflowMove how,
                                   const skald::SagaError& error) {
  const Workflow workflow = flow.db().read_result([&](skald::Transaction& tx) { return workflow_named(tx, id); });
  if (error.code == "WRONG_STATE") refuse(workflow.status, how);
  throw skald::Refused(error.code, error.message);
}

template <class State>
skald::Response begin_act(const Flow& flow, const skald::Request& request, WorkflowMove how,
                          const skald::Saga<State>& saga, State state, const skald::StartOptions& options) {
  const std::string id = request.param("id");
  const Workflow workflow = flow.db().read_result([&](skald::Transaction& tx) { return workflow_named(tx, id); });
  if (!allows(workflow.status, how)) refuse(workflow.status, how);
  state.workflow_id = id;
  const skald::Started started = flow.engine.sagas().start(saga, std::move(state), options);
  if (started.error && started.status == skald::SagaStatus::COMPENSATED) refuse_by(flow, id, how, *started.error);
  return shown(flow, 202, id);
}

// One at a time of a workflow: who asks for the same meanwhile has the answer of the one under way. The saga has the
// effect's id: a request whose answer was lost is not refused for what it has done itself.
template <class State>
skald::Response act(const Flow& flow, const skald::Request& request, WorkflowMove how, const skald::Saga<State>& saga,
                    State state) {
  const std::string& id = request.param("id");
  const auto own =
      flow.db().read_result([&](skald::Transaction& tx) { return flow.engine.sagas().find(tx, request.effect_id); });
  if (own && own->error && own->error->code == "WRONG_STATE") refuse_by(flow, id, how, *own->error);
  if (own) return shown(flow, 202, id);
  return begin_act(flow, request, how, saga, std::move(state),
                   {.key = id, .id = request.effect_id, .traceparent = request.traceparent});
}

// Each request by itself, one after the other. `known` tells from a transaction whether this request has had its effect
// already, and only its answer was lost.
template <class State, class Known>
skald::Response act_each(const Flow& flow, const skald::Request& request, WorkflowMove how,
                         const skald::Saga<State>& saga, State state, Known&& known) {
  if (flow.db().read_result([&](skald::Transaction& tx) { return known(tx); }))
    return shown(flow, 202, request.param("id"));
  try {
    return begin_act(flow, request, how, saga, std::move(state),
                     {.key = request.effect_id, .traceparent = request.traceparent});
  } catch (const skald::Busy& busy) {
    if (busy.code() != "SAGA_JUST_ENDED") throw;  // that was this request's
    return shown(flow, 202, request.param("id"));
  }
}

}  // namespace agentflow
