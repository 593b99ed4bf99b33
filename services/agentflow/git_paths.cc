// GET, POST /agentflow/gits · GET, DELETE …/{id}
#include "agentflow/events.h"
#include "agentflow/listing.h"
#include "agentflow/views.h"

namespace agentflow {
namespace {

using skald::Access;
using skald::Request;
using skald::Response;
using skald::Transaction;

Git git_named(Transaction& tx, const Request& request) {
  auto git = tx.find<Git>(request.param("id"));
  if (!git) throw skald::NotFound("GIT_NOT_FOUND", "there is no git with this id");
  return *git;
}

// The repository is looked at, or cloned, outside of any transaction. The effect's id is the git's.
Response create_git(const Flow& flow, const Request& request) {
  const auto asked = request.as<NewGit>();
  check(asked);
  const Outside& outside = *flow.outside;
  Git git{.id = request.effect_id,
          .name = asked.name,
          .remote = asked.remote,
          .path = asked.path ? outside.options.repositories->inspect(*asked.path).path
                             : outside.clone_of(request.effect_id),
          .status = asked.remote ? GitStatus::CLONING : GitStatus::READY,
          .error = {},
          .created_at = {},
          .version = 0};
  flow.db().write("create git", [&](Transaction& tx) {
    if (tx.find<Git>(git.id)) return;  // by this request, before its answer was lost
    if (!tx.query("SELECT 1 FROM flow_git WHERE name = $1", git.name).empty())
      throw skald::Refused("NAME_TAKEN", "there is a git of this name: choose another");
    git.created_at = tx.now();
    tx.insert(git);
    say(tx, kGitCreated, git.id, git.id, view_of(git));
    if (git.remote)
      flow.engine.sagas().start_in(tx, flow.sagas.clone, CloneGit{git.id, *git.remote, git.path}, {.key = git.id});
  });
  return flow.db().read_result(
      [&](Transaction& tx) { return Response::json(201, view_of(skald::found<Git>(tx, git.id))); });
}

// Under the row's lock: nobody begins to use it between the look and the deletion.
Response delete_git(const Flow&, const Request& request, Transaction& tx) {
  skald::RowLocks locks(tx, kRanks, "delete git");
  const auto git = locks.take<Git>(request.param("id"));
  if (!git) throw skald::NotFound("GIT_NOT_FOUND", "there is no git with this id");
  refuse_while_used(git->active_workflow_ids, "git " + git->name);
  if (!tx.query("SELECT 1 FROM flow_work_tree WHERE git_id = $1 LIMIT 1", git->id).empty())
    throw skald::Refused("IN_USE", "worktrees of git " + git->name + " are still there: delete their workflows first");
  tx.execute("DELETE FROM flow_git WHERE id = $1", git->id);
  say(tx, kGitDeleted, git->id, git->id, Gone{git->id, git->remote ? std::optional(git->path) : std::nullopt});
  return Response::json(200, view_of(*git));
}

}  // namespace

void add_git_paths(const FlowHandle& flow, skald::Router& router) {
  skald::Database& db = flow->db();
  router.act_once(db, "/agentflow/gits", Access::admin,
                  skald::describe<NewGit, GitView>("Register a git repository", 201),
                  [flow](const Request& request) { return create_git(*flow, request); });
  add_list<Git, GitView>(
      flow, router, "/agentflow/gits", "Git repositories, newest first", {"name", "status"},
      [](Transaction&, const Git& git) { return view_of(git); },
      [](const Request& request) { skald::enum_filter<GitStatus>(request, "status"); });
  router.get("/agentflow/gits/{id}", Access::admin, skald::describe<void, GitView>("A git repository"),
             [flow](const Request& request) {
               return flow->db().read_result(
                   [&](Transaction& tx) { return Response::json(200, view_of(git_named(tx, request))); });
             });
  router.write(db, "DELETE", "/agentflow/gits/{id}", Access::admin,
               skald::describe<void, GitView>("Forget a git repository"),
               [flow](const Request& request, Transaction& tx) { return delete_git(*flow, request, tx); });
}

}  // namespace agentflow
