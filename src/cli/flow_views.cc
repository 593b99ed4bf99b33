#include "cli/flow_views.h"

#include <ostream>

#include "cli/output.h"

namespace skald::cli {
namespace {

using FlowRows = std::vector<std::vector<std::string>>;

// Paths are not cut: somebody copies them.
void print_about(const JsonView& workflow, std::ostream& out) {
  auto fields = workflow.fields({"id", "name", "status", "allowed", "agent", "error", "space", "portNumbers", "sagaId",
                                 "createdAt", "updatedAt"});
  for (const JsonView& tree : workflow.items("workTrees")) {
    const std::string error = tree["error"];
    fields.emplace_back("worktree", tree["path"] + " is " + tree["status"] + ", branch " + tree["branch"] +
                                        (error.empty() ? "" : ": " + error));
  }
  const JsonView home = workflow.member("integration");
  if (const std::string mode = home["mode"]; !mode.empty())
    fields.emplace_back("integration",
                        mode + " is " + home["status"] + (home["error"].empty() ? "" : ": " + home["error"]));
  print_fields(out, fields);
  out << '\n';
}

}  // namespace

void print_gits(const JsonView& page, std::ostream& out) {
  FlowRows rows;
  for (const JsonView& git : page.items())
    rows.push_back({git["id"], git["name"], git["status"], std::to_string(git.items("activeWorkflowIds").size()),
                    git["path"], git["remote"], git["error"]});
  print_table(out, {"ID", "NAME", "STATUS", "USED BY", "PATH", "REMOTE", "ERROR"}, rows);
  print_more(out, page);
}

void print_git(const JsonView& git, std::ostream& out) {
  print_fields(out, git.fields({"id", "name", "status", "path", "remote", "error", "createdAt"}));
}

void print_servers(const JsonView& page, std::ostream& out) {
  FlowRows rows;
  for (const JsonView& server : page.items())
    rows.push_back({server["id"], server["name"], std::to_string(server.items("activeWorkflowIds").size()),
                    server["command"] + server["url"], server["args"], server["envNames"]});
  print_table(out, {"ID", "NAME", "USED BY", "COMMAND OR URL", "ARGS", "VARIABLES"}, rows);
  print_more(out, page);
}

void print_server(const JsonView& server, std::ostream& out) {
  print_fields(out, server.fields({"id", "name", "command", "args", "url", "envNames", "createdAt"}));
}

std::string completed_works(const JsonView& workflow) {
  const auto works = workflow.items("works");
  std::size_t done = 0;
  for (const JsonView& work : works) done += work["status"] == "COMPLETED" ? 1 : 0;
  return std::to_string(done) + " of " + std::to_string(works.size());
}

void print_workflows(const JsonView& page, std::ostream& out) {
  FlowRows rows;
  for (const JsonView& one : page.items())
    rows.push_back(
        {one["id"], one["name"], one["status"], completed_works(one), one["agent"], one["createdAt"], one["error"]});
  print_table(out, {"ID", "NAME", "STATUS", "WORKS DONE", "AGENT", "CREATED", "ERROR"}, rows);
  print_more(out, page);
}

void print_workflow(const JsonView& workflow, std::ostream& out) {
  print_about(workflow, out);
  FlowRows rows;
  for (const JsonView& work : workflow.items("works")) rows.push_back({work["id"], work["name"], work["status"]});
  print_table(out, {"WORK", "NAME", "STATUS"}, rows);
}

// A row for each task; its work stands in the first of them.
void print_whole_workflow(const JsonView& workflow, std::ostream& out) {
  print_about(workflow, out);
  FlowRows rows;
  for (const JsonView& work : workflow.items("works")) {
    std::vector<std::string> about = {work["id"], work["name"], work["status"]};
    for (const JsonView& task : work.items("tasks")) {
      rows.push_back({about[0], about[1], about[2], task["n"], task["status"], task["outcome"], task["exitCode"],
                      task["attempt"], task["startedAt"], task["finishedAt"], task["error"]});
      about = {"", "", ""};
    }
  }
  print_table(
      out,
      {"WORK", "NAME", "STATUS", "TASK", "TASK STATUS", "OUTCOME", "EXIT", "TRIES", "STARTED", "FINISHED", "ERROR"},
      rows);
}

void print_checkpoints(const JsonView& page, std::ostream& out) {
  FlowRows rows;
  for (const JsonView& one : page.items())
    for (const JsonView& commit : one.items("commits"))
      rows.push_back({one["id"], one["workId"], one["createdAt"], commit["gitId"], commit["commit"]});
  print_table(out, {"ID", "WORK", "CREATED", "GIT", "COMMIT"}, rows);
}

void print_agents(const JsonView& agents, std::ostream& out) {
  print_fields(out, agents.fields({"presets"}));
  FlowRows rows;
  for (const JsonView& one : agents.items("running"))
    rows.push_back({one["workId"], one["n"], one["pid"], one["startedAt"], one["outputBytes"], one["run"]});
  out << '\n';
  print_table(out, {"WORK", "TASK", "PID", "STARTED", "OUTPUT BYTES", "RUN"}, rows);
}

void print_templates(const JsonView& page, std::ostream& out) {
  FlowRows rows;
  for (const JsonView& one : page.items())
    rows.push_back({one["id"], one["name"], one["agent"], std::to_string(one.items("gitRefs").size()),
                    std::to_string(one.items("works").size()), one["createdAt"]});
  print_table(out, {"ID", "NAME", "AGENT", "GITS", "WORKS", "CREATED"}, rows);
  print_more(out, page);
}

void print_template(const JsonView& one, std::ostream& out) {
  auto fields = one.fields({"id", "name", "agent", "createdAt"});
  for (const JsonView& ref : one.items("gitRefs"))
    fields.emplace_back("git", ref["gitId"] + (ref["baseBranch"].empty() ? "" : " from " + ref["baseBranch"]));
  print_fields(out, fields);
  out << '\n';
  FlowRows rows;
  for (const JsonView& work : one.items("works")) {
    std::string name = work["name"];
    for (const JsonView& task : work.items("tasks")) {
      rows.push_back({name, task["agent"], task["prompt"]});
      name.clear();
    }
  }
  print_table(out, {"WORK", "AGENT", "TASK"}, rows);
}

// Questions are read whole: somebody is to answer them.
void print_questions(const JsonView& page, std::ostream& out) {
  FlowRows rows;
  for (const JsonView& one : page.items())
    rows.push_back({one["id"], one["workId"], one["askedAt"], one["text"], one["answer"]});
  print_table(out, {"QUESTION", "WORK", "ASKED", "TEXT", "ANSWER"}, rows, Long::wrap);
  print_more(out, page);
}

void print_question(const JsonView& question, std::ostream& out) {
  print_fields(out, question.fields({"id", "workflowId", "workId", "askedAt", "text", "answer"}));
}

void print_query(const JsonView& query, std::ostream& out) {
  print_fields(out, query.fields({"id", "workflowId", "workId", "status", "text", "askedAt", "answer"}));
}

}  // namespace skald::cli
