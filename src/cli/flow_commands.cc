#include "cli/flow_commands.h"

#include <algorithm>
#include <iterator>

namespace skald::cli {
namespace {

const Flag kLimit = {"limit", "N", "entries at most, 1 to 200"};
const Flag kCursor = {"cursor", "CURSOR", "go on where a list before this one ended"};
const Flag kWait = {"wait", "", "follow it until it is through; fails where it did not come to what you asked for"};
const Flag kStart = {"start", "", "start it at once"};

std::vector<Command> registered_commands() {
  return {
      {"flow gits list", "", "List the git repositories that workflows may work on.", {kLimit, kCursor}, true},
      {"flow gits add",
       "NAME",
       "Register a git repository.",
       {{"path", "PATH", "a repository on the server's machine"}, {"remote", "URL", "what is to be cloned"}},
       true},
      {"flow gits remove", "ID", "Forget a git repository that no workflow uses.", {}, true},
      {"flow mcp list", "", "List the MCP servers that works may use.", {kLimit, kCursor}, true},
      {"flow mcp add",
       "NAME [WORD…]",
       "Register an MCP server: its command and arguments behind `--`, or --url.",
       {{"url", "URL", "where it is, if it is no command"},
        {"env", "NAME[=VALUE]",
         "a variable of it, several times for several; without a value it is the server's own, and never stored",
         true}},
       true},
      {"flow mcp remove", "ID", "Forget an MCP server that no workflow uses.", {}, true},
      {"flow templates list", "", "List the templates of workflows.", {kLimit, kCursor}, true},
      {"flow templates add",
       "FILE",
       "Keep a workflow file as a template, under the name in it.",
       {{"replace", "", "take the place of the template of that name"}},
       true},
      {"flow templates show", "TEMPLATE", "Show one template, by its name or id.", {}, true},
      {"flow templates remove", "TEMPLATE", "Delete a template; its workflows stay.", {}, true},
      {"flow templates use", "TEMPLATE NAME", "Create a workflow of that name from a template.", {kStart}, true},
  };
}

std::vector<Command> workflow_commands() {
  return {
      {"flow create", "FILE", "Create a workflow as a file in TOML or JSON describes it.", {kStart}, true},
      {"flow list",
       "",
       "List workflows, newest first.",
       {{"status", "STATUS", "such as RUNNING, PAUSED or FAILED"}, kLimit, kCursor},
       true},
      {"flow show", "ID", "Show one workflow with its works, their tasks and what came of them.", {}, true},
      {"flow start", "ID", "Start a workflow; with --wait until its works are done.", {kWait}, true},
      {"flow pause", "ID", "Pause a workflow: its agents are ended.", {kWait}, true},
      {"flow resume", "ID", "Resume a workflow that was paused or has failed.", {kWait}, true},
      {"flow cancel", "ID", "Cancel a workflow.", {kWait}, true},
      {"flow delete", "ID", "Delete a workflow with its worktrees and branches.", {kWait}, true},
      {"flow modify",
       "ID [FILE]",
       "Change a workflow: to what a file has of name, gitRefs and works not yet run, or by flags.",
       {{"name", "NAME", "its new name"},
        {"add-git", "GIT", "one repository more, by its name or id; several times for several", true},
        {"remove-git", "GIT", "one repository less; several times for several", true},
        kWait},
       true},
      {"flow checkpoints", "ID", "List the checkpoints of a workflow, oldest first.", {}, true},
      {"flow checkpoint", "ID", "Take a checkpoint of all worktrees of a workflow.", {kWait}, true},
      {"flow restore",
       "ID CHECKPOINT",
       "Put all worktrees back to a checkpoint; what is there now is kept as one.",
       {kWait},
       true},
      {"flow diff",
       "ID",
       "Show what a workflow has changed, per repository.",
       {{"work", "WORK", "by this work alone"},
        {"git", "GIT", "in this repository alone, by its name or id"},
        {"stat", "", "the files alone"}},
       true},
      {"flow integrate",
       "ID",
       "Bring a workflow home, into all repositories or none.",
       {{"mode", "MODE", "merge (what you get unless you say), rebase, squash or branch"},
        {"target", "BRANCH", "the branch that gets it: where the work began, unless you say"},
        kWait},
       true},
  };
}

std::vector<Command> agent_commands() {
  return {
      {"flow agents", "", "List the agents that run now, and those that there are.", {}, true},
      {"flow watch", "ID", "Print what happens to a workflow, as it happens, until it is deleted.", {}, true},
      {"flow logs",
       "WORK",
       "Print what the agent of a work's task has written.",
       {{"task", "N", "of this task: the last that has begun unless you say"},
        {"follow", "", "go on until the task has ended (-f)"}},
       true},
      {"flow questions",
       "",
       "List the questions of agents that wait for an answer.",
       {{"work", "WORK", "all that this work has asked, answered or not"}, kLimit, kCursor},
       true},
      {"flow answer", "QUESTION TEXT", "Answer the question of an agent.", {}, true},
      {"flow query", "WORK TEXT", "Ask the agent of a work something.", {}, true},
  };
}

}  // namespace

std::vector<Command> flow_commands() {
  std::vector<Command> out = registered_commands();
  std::ranges::copy(workflow_commands(), std::back_inserter(out));
  std::ranges::copy(agent_commands(), std::back_inserter(out));
  return out;
}

}  // namespace skald::cli
