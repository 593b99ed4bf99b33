// GET, POST /agentflow/templates · GET, PUT, DELETE …/{id} · POST …/{id}/instantiate
#include "agentflow/create.h"
#include "agentflow/listing.h"
#include "skald/id.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

Template template_named(Transaction& tx, const Request& request) {
  auto row = tx.find<Template>(request.param("id"));
  if (!row) throw skald::NotFound("TEMPLATE_NOT_FOUND", "there is no template with this id");
  return *row;
}

Plan checked_plan(const NewTemplate& asked) {
  check_name(asked.name);
  Plan plan{asked.agent, asked.git_refs, asked.works, asked.ports};
  check(plan);
  return plan;
}

void refuse_taken(Transaction& tx, const std::string& name, const std::string& id) {
  if (!tx.query("SELECT 1 FROM flow_template WHERE name = $1 AND id <> $2", name, id).empty())
    throw skald::Refused("NAME_TAKEN", "there is a template of this name: choose another");
}

Response create_template(const Flow& flow, const Request& request, Transaction& tx) {
  const auto asked = request.as<NewTemplate>();
  const Plan plan = checked_plan(asked);
  const Template row{skald::make_id(tx.now(), flow.env.random), asked.name, as_column(plan), tx.now(), 0};
  refuse_taken(tx, row.name, row.id);
  refuse_unknown(tx, plan);
  tx.insert(row);
  return Response::json(201, view_of(row));
}

Response replace_template(const Request& request, Transaction& tx) {
  const auto asked = request.as<NewTemplate>();
  const Plan plan = checked_plan(asked);
  Template row = template_named(tx, request);
  refuse_taken(tx, asked.name, row.id);
  refuse_unknown(tx, plan);
  row.name = asked.name;
  row.body = as_column(plan);
  tx.save(row);
  return Response::json(200, view_of(row));
}

Response delete_template(const Request& request, Transaction& tx) {
  const Template row = template_named(tx, request);
  tx.execute("DELETE FROM flow_template WHERE id = $1", row.id);
  return Response::json(200, view_of(row));
}

}  // namespace

void drop_reference(Transaction& tx, const std::string& template_id, const std::string& gone) {
  if (!tx.find<Template>(template_id)) return;
  skald::change<Template>(tx, template_id, [&](Template& row) {
    edit<Plan>(row.body, [&](Plan& plan) {
      std::erase_if(plan.git_refs, [&](const GitRef& ref) { return ref.git_id == gone; });
      for (NewWork& work : plan.works)
        if (work.mcp_server_refs) std::erase(*work.mcp_server_refs, gone);
    });
  });
}

void add_template_paths(const FlowHandle& flow, skald::Router& router) {
  skald::Database& db = flow->db();
  router.post(db, "/agentflow/templates", Access::admin,
              skald::describe<NewTemplate, TemplateView>("Keep a workflow's description under a name", 201),
              [flow](const Request& request, Transaction& tx) { return create_template(*flow, request, tx); });
  add_list<Template, TemplateView>(flow, router, "/agentflow/templates", "Templates, newest first", {"name"},
                                   [](Transaction&, const Template& row) { return view_of(row); });
  router.get("/agentflow/templates/{id}", Access::admin, skald::describe<void, TemplateView>("A template"),
             [flow](const Request& request) {
               return flow->db().read_result(
                   [&](Transaction& tx) { return Response::json(200, view_of(template_named(tx, request))); });
             });
  router.write(db, "PUT", "/agentflow/templates/{id}", Access::admin,
               skald::describe<NewTemplate, TemplateView>("Replace a template"),
               [](const Request& request, Transaction& tx) { return replace_template(request, tx); });
  router.write(db, "DELETE", "/agentflow/templates/{id}", Access::admin,
               skald::describe<void, TemplateView>("Delete a template"),
               [](const Request& request, Transaction& tx) { return delete_template(request, tx); });
  router.post(db, "/agentflow/templates/{id}/instantiate", Access::admin,
              skald::describe<Instance, WorkflowView>("Create a workflow from a template", 201),
              [flow](const Request& request, Transaction& tx) {
                const Template row = template_named(tx, request);
                return Response::json(
                    201, create_workflow(*flow, tx, {.name = request.as<Instance>().name, .template_id = row.id}));
              });
}

}  // namespace agentflow
