// GET, POST /agentflow/mcp-servers · GET, DELETE …/{id}
#include "agentflow/events.h"
#include "agentflow/listing.h"
#include "agentflow/mcp.h"
#include "agentflow/views.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

// It must answer a real handshake before it is registered, where that is wanted.
Response register_server(const Flow& flow, const Request& request) {
  const auto asked = request.as<NewMcpServer>();
  check(asked);
  const Options& options = flow.outside->options;
  if (options.greet_mcp_servers)
    greet(flow.env,
          {asked.name, asked.command.value_or(""), asked.args.value_or(std::vector<std::string>{}),
           asked.env.value_or(skald::Variables{}), asked.url},
          options.folder, kGreetingMax);
  McpServer server{.id = request.effect_id,
                   .name = asked.name,
                   .command = asked.command,
                   .url = asked.url,
                   .args = as_column(asked.args.value_or(std::vector<std::string>{})),
                   .variables = as_column(asked.env.value_or(skald::Variables{})),
                   .created_at = {},
                   .version = 0};
  flow.db().write("register mcp server", [&](Transaction& tx) {
    if (tx.find<McpServer>(server.id)) return;  // by this request, before its answer was lost
    if (!tx.query("SELECT 1 FROM flow_mcp_server WHERE name = $1", server.name).empty())
      throw skald::Refused("NAME_TAKEN", "there is an MCP server of this name: choose another");
    server.created_at = tx.now();
    tx.insert(server);
    say(tx, kMcpRegistered, server.id, server.id, view_of(server));
  });
  return flow.db().read_result(
      [&](Transaction& tx) { return Response::json(201, view_of(skald::found<McpServer>(tx, server.id))); });
}

Response unregister_server(const Request& request, Transaction& tx) {
  skald::RowLocks locks(tx, kRanks, "unregister mcp server");
  const auto server = locks.take<McpServer>(request.param("id"));
  if (!server) throw skald::NotFound("MCP_SERVER_NOT_FOUND", "there is no MCP server with this id");
  refuse_while_used(server->active_workflow_ids, "MCP server " + server->name);
  tx.execute("DELETE FROM flow_mcp_server WHERE id = $1", server->id);
  say(tx, kMcpUnregistered, server->id, server->id, Gone{server->id, {}});
  return Response::json(200, view_of(*server));
}

}  // namespace

void add_mcp_paths(const FlowHandle& flow, skald::Router& router) {
  skald::Database& db = flow->db();
  router.act_once(db, "/agentflow/mcp-servers", Access::admin,
                  skald::describe<NewMcpServer, McpServerView>("Register an MCP server", 201),
                  [flow](const Request& request) { return register_server(*flow, request); });
  add_list<McpServer, McpServerView>(flow, router, "/agentflow/mcp-servers", "MCP servers, newest first", {"name"},
                                     [](Transaction&, const McpServer& server) { return view_of(server); });
  router.get("/agentflow/mcp-servers/{id}", Access::admin, skald::describe<void, McpServerView>("An MCP server"),
             [flow](const Request& request) {
               return flow->db().read_result([&](Transaction& tx) {
                 const auto server = tx.find<McpServer>(request.param("id"));
                 if (!server) throw skald::NotFound("MCP_SERVER_NOT_FOUND", "there is no MCP server with this id");
                 return Response::json(200, view_of(*server));
               });
             });
  router.write(db, "DELETE", "/agentflow/mcp-servers/{id}", Access::admin,
               skald::describe<void, McpServerView>("Forget an MCP server"),
               [](const Request& request, Transaction& tx) { return unregister_server(request, tx); });
}

}  // namespace agentflow
