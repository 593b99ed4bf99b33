#include <filesystem>

#include "agentflow/agent_inlet.h"
#include "agentflow/agentflow.h"
#include "agentflow/flow.h"
#include "agentflow/presets.h"
#include "agentflow/run_secrets.h"

namespace agentflow {
namespace {

// What must outlive the engine's threads.
struct Installed {
  FlowHandle flow;
  std::unique_ptr<AgentInlet> inlet;
};

Sagas make_sagas(const OutsideHandle& outside, skald::Database& db) {
  const skald::Saga<SettleTrees> settle = settle_saga(outside);
  const skald::Saga<BranchWorks> branch = branch_saga(outside);
  const skald::Saga<NextWork> next = next_saga(settle, branch);
  return {.start = start_saga(outside),
          .pause = pause_saga(outside),
          .resume = resume_saga(outside),
          .cancel = cancel_saga(outside),
          .remove = delete_saga(outside),
          .release = release_saga(),
          .settle = settle,
          .modify = modify_saga(outside, settle),
          .branch = branch,
          .next = next,
          .join = join_saga(outside),
          .advance = advance_saga(outside, next),
          .checkpoint = checkpoint_saga(outside),
          .restore = restore_saga(outside),
          .integrate = integrate_saga(outside),
          .task = task_saga(outside, db),
          .stop = stop_saga(outside),
          .dismiss = dismiss_saga(outside),
          .letter = letter_saga(outside),
          .query = query_saga(outside, db),
          .clone = clone_saga(outside),
          .forget = forget_saga(outside)};
}

void add_sagas(skald::Sagas& to, const Sagas& sagas) {
  to.add(sagas.start);
  to.add(sagas.pause);
  to.add(sagas.resume);
  to.add(sagas.cancel);
  to.add(sagas.remove);
  to.add(sagas.release);
  to.add(sagas.settle);
  to.add(sagas.modify);
  to.add(sagas.branch);
  to.add(sagas.next);
  to.add(sagas.join);
  to.add(sagas.advance);
  to.add(sagas.checkpoint);
  to.add(sagas.restore);
  to.add(sagas.integrate);
  to.add(sagas.task);
  to.add(sagas.stop);
  to.add(sagas.dismiss);
  to.add(sagas.letter);
  to.add(sagas.query);
  to.add(sagas.clone);
  to.add(sagas.forget);
}

}  // namespace

std::optional<std::string> space_of_work(const Flow& flow, const std::string& work_id) {
  const auto work = flow.db().read_result([&](skald::Transaction& tx) { return tx.find<Work>(work_id); });
  return work ? std::optional(flow.outside->space_of(work->workflow_id)) : std::nullopt;
}

std::shared_ptr<void> install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options) {
  engine.database().migrate("agentflow", migrations());
  std::filesystem::create_directories(options.folder);
  add_shipped_presets(options);
  const auto outside = std::make_shared<Outside>(Outside{env, std::move(options)});
  const auto flow = std::make_shared<const Flow>(Flow{engine, env, outside, make_sagas(outside, engine.database())});
  add_sagas(engine.sagas(), flow->sagas);
  add_consumers(flow);
  add_ask_consumers(flow);
  auto installed = std::make_shared<Installed>();
  installed->flow = flow;
  installed->inlet = std::make_unique<AgentInlet>(
      env, outside->agents(), [flow](const std::string& work_id) { return space_of_work(*flow, work_id); },
      [flow](const std::string& run) {
        return flow->db().read_result(
            [&](skald::Transaction& tx) { return secrets_of_run(flow->outside->options, tx, run); });
      },
      [&engine](std::span<const skald::Message> messages) { engine.land(messages); },
      [flow](const RunName& run) {
        return flow->db().read_result(
            [&](skald::Transaction& tx) { return spending_rule(flow->outside->options, tx, run); });
      },
      [outside] { outside->options.publish(kOutputTopic); });
  engine.receive(*installed->inlet);
  add_git_paths(flow, router);
  add_mcp_paths(flow, router);
  add_template_paths(flow, router);
  add_workflow_paths(flow, router);
  add_modify_path(flow, router);
  add_work_paths(flow, router);
  add_question_paths(flow, router);
  add_query_paths(flow, router);
  add_agents_path(flow, router);
  add_checkpoint_paths(flow, router);
  add_integrate_path(flow, router);
  add_diff_path(flow, router);
  add_story_paths(flow, router);
  add_output_path(flow, router);
  add_invariants(flow, router);
  return installed;
}

}  // namespace agentflow
