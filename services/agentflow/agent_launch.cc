#include "agentflow/agent_launch.h"

#include "agentflow/run_secrets.h"
#include "agentflow/sandbox.h"

namespace agentflow {
namespace {

struct Inside {
  std::vector<std::string> secrets;
  std::vector<Tree> trees;
};

Inside look_inside(const Options& options, skald::Database& db, const Assignment& assignment, const Ids& mcp_servers) {
  return db.read_result([&](skald::Transaction& tx) {
    Inside out{.secrets = secrets_of(options, tx, assignment.agent, mcp_servers), .trees = {}};
    for (const WorkTree& tree : trees_of(tx, assignment.workflow_id))
      if (tree.status == TreeStatus::READY) out.trees.push_back(tree_of(tree));
    return out;
  });
}

void enclose_agent(const Options& options, const Preset& preset, const Assignment& assignment,
                   const std::vector<Tree>& trees, skald::RunSpec& spec) {
  SandboxRequest request{.space = assignment.space,
                         .trees = trees,
                         .hidden = options.hidden,
                         .readable = preset.readable,
                         .home = spec.variables.contains("HOME") ? spec.variables.at("HOME") : "",
                         .network = preset.network};
  request.hidden.push_back(options.folder);
  if (!options.program.empty()) request.readable.push_back(options.program);
  enclose(spec, options.bwrap, sandbox_view(request));
}

}  // namespace

std::optional<std::string> launch_agent(const Outside& outside, skald::Database& db, const Assignment& assignment,
                                        const Ids& mcp_servers) {
  const Options& options = outside.options;
  const Preset& preset = preset_of(options, assignment.agent);
  skald::RunSpec spec = spec_of(options, assignment);
  Inside inside = look_inside(options, db, assignment, mcp_servers);
  spec.secrets = std::move(inside.secrets);
  std::optional<std::string> problem;
  if (preset.sandbox != Sandbox::off) {
    problem = sandbox_problem(outside.env.clock, options.bwrap, spec.variables);
    if (problem && preset.sandbox == Sandbox::required)
      throw skald::Refused("NO_SANDBOX", "agent " + assignment.agent +
                                             " runs in a sandbox only: install bubblewrap, and allow the server's user "
                                             "to make user namespaces: " +
                                             *problem);
    if (!problem) enclose_agent(options, preset, assignment, inside.trees, spec);
  }
  if (problem)
    outside.env.observer.log(skald::Observer::Level::warn, "an agent runs without the sandbox that is wanted for it",
                             "\"run\":" + skald::to_json(assignment.run) + ",\"why\":" + skald::to_json(*problem));
  outside.agents().start(spec);
  if (!problem) return std::nullopt;
  return "it runs without a sandbox: " + *problem;
}

}  // namespace agentflow
