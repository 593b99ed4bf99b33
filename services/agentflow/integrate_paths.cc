// POST /agentflow/workflows/{id}/integrate
#include "agentflow/acts.h"
#include "agentflow/git/names.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

struct NewIntegration {
  IntegrationMode mode = IntegrationMode::merge;
  std::optional<std::string> target = {};
};
BOOST_DESCRIBE_STRUCT(NewIntegration, (), (mode, target))

Response integrate(const Flow& flow, const Request& request) {
  const auto asked = request.as<NewIntegration>();
  if (asked.target) check_branch(*asked.target);
  if (asked.mode == IntegrationMode::branch && !asked.target)
    throw skald::Invalid("BAD_INTEGRATION", "the mode branch wants a target: the name under which the work is left");
  return act_each(
      flow, request, WorkflowMove::integrate, flow.sagas.integrate,
      IntegrateWorkflow{.workflow_id = "", .id = request.effect_id, .mode = asked.mode, .target = asked.target},
      [&](Transaction& tx) {
        const auto last = workflow_named(tx, request.param("id")).integration;
        return last && skald::from_json<IntegrationNote>(*last).id == request.effect_id;
      });
}

}  // namespace

void add_integrate_path(const FlowHandle& flow, skald::Router& router) {
  router.act_once(
      flow->db(), "/agentflow/workflows/{id}/integrate", Access::admin,
      skald::describe<NewIntegration, WorkflowView>("Bring a workflow home, in all repositories or in none", 202),
      [flow](const Request& request) { return integrate(*flow, request); });
}

}  // namespace agentflow
