// The agentflow service: workflows of AI agents on git worktrees. A workflow has works, which run one after the other;
// a work has tasks, each an agent's process in the workflow's own space, with a worktree and a branch of its own per
// repository; after each work a checkpoint is taken. A crash at any point loses and doubles nothing.
//
//   agentflow::install(engine, router, env, {.folder = data / "flow", .repositories = …, .agents = …});
//   engine.start();
//
// Running agents is running commands: every path wants an admin.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "agentflow/agents.h"
#include "agentflow/ask_record.h"
#include "agentflow/ports.h"
#include "agentflow/repositories.h"
#include "agentflow/sandbox.h"
#include "agentflow/spaces.h"
#include "skald/database.h"
#include "skald/engine.h"
#include "skald/env.h"
#include "skald/http.h"
#include "skald/optimistic.h"
#include "skald/process.h"

namespace agentflow {

// How the agents of one name are started. Words may hold {prompt}, {space}, {mcp}, which are the task's text, the
// workflow's folder and the work's mcp.json; without {prompt} the text goes to standard input.
struct Preset {
  std::vector<std::string> argv;
  std::vector<std::string> variables = {};  // of this process that it may see, beside PATH, HOME and LANG
  skald::Duration timeout = std::chrono::hours(1);
  OnQuestion on_question = OnQuestion::wait;  // what becomes of an agent that asks a person
  std::string question_pattern = {};  // of a last line of its output that is a question; see question_pattern.h
  std::string cost_pattern = {}, cost_json = {};  // how its output tells its cost (cost.h); one of them, or none
  double cost_max = 0;                            // of a task; 0: none
  std::int64_t output_max = 64 << 20;             // bytes that are kept of a task
  Sandbox sandbox = Sandbox::off;             // wanted: where there is none, it runs without and that is told
  bool network = true;                        // in a sandbox
  std::vector<std::string> readable = {};     // there, of what is hidden: absolute, or ~/…
  bool restore_before_retry = true;  // an interrupted task finds the worktrees as they were when it began
};

struct Options {
  std::string folder;                            // of clones and spaces
  std::shared_ptr<Repositories> repositories;
  std::shared_ptr<Agents> agents;                // supervised_agents(), or a simulator's
  std::shared_ptr<Spaces> spaces = folder_spaces();
  // Beside `shell`, which runs the task's text as a script, and `scripted`, which does what its lines say.
  std::map<std::string, Preset> presets;
  skald::Variables variables = {};               // of this process, for the allow-list of presets
  // Patterns of the names of those whose values are *** in all that an agent says.
  std::vector<std::string> secret_variables = {"*_TOKEN", "*_KEY", "*_SECRET", "*PASSWORD*"};
  int agents_max = 8;                            // at once, in all
  double cost_max = 0;                           // of a workflow that has no limit of its own; 0: none
  skald::Duration workflow_time_max = {};        // the same of the time that its agents run; 0: none
  int agents_per_machine = 0;                    // at once, of those that share `folder`; 0: agents_max alone counts
  int agents_per_repository = 0;                 // at once, by the first repository of their workflow; 0: the same
  PortRange ports = {};                          // that workflows may have
  std::function<bool(int port)> is_port_free = agentflow::is_port_free;
  std::string bwrap = "bwrap";                   // the program that makes sandboxes
  std::vector<std::string> hidden = {};          // folders that agents in a sandbox do not see, beside `folder`
  bool greet_mcp_servers = true;
  // Where `skald` lies: agents start it as their MCP server, and it is the `scripted` agent. Empty: there is neither.
  std::string program = {};
  skald::Pause pause = {};
  std::function<void(std::string_view topic)> publish = [](std::string_view) {};
};

// Component "agentflow". Its tables stand beside the engine's in one database.
std::span<const skald::Migration> migrations();

// Brings the schema up to date, adds sagas, consumers, the inlet of agents and the paths. Before engine.start(). What is
// returned must outlive the engine's threads: the inlet lives in it.
std::shared_ptr<void> install(skald::Engine& engine, skald::Router& router, skald::Env env, Options options);

}  // namespace agentflow
