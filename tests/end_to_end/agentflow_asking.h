// Agents of tests that talk through the real `skald mcp`.
#pragma once

#include <filesystem>

#include "agentflow/ask_views.h"
#include "end_to_end/agentflow_site.h"
#include "support/built.h"

namespace skald::test {

class AgentflowAskingTest : public AgentflowTest {
 protected:
  // A script that calls a tool, waits for its result and prints it.
  static std::string mcp_call(const std::string& tool, const std::string& arguments, int nth = 1) {
    const std::string file = "$SKALD_SPACE/said-$SKALD_TASK-" + std::to_string(nth);
    return ": > " + file + "; " + session(tool, arguments, "grep -q '\"id\":2' " + file) + " > " + file + "; cat " +
           file;
  }
  // The same, but it goes when the nth request lies in the mailbox.
  static std::string mcp_say(const std::string& tool, const std::string& arguments, int nth) {
    return session(tool, arguments, "[ -e $SKALD_MAILBOX/request-" + std::to_string(nth) + ".json ]") + " > /dev/null";
  }
  static std::string session(const std::string& tool, const std::string& arguments, const std::string& until_shown) {
    return R"({ printf '%s\n' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18"}}' )"
           R"('{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":")" +
           tool + R"(","arguments":)" + arguments + "}}'; while ! " + until_shown + "; do sleep 0.02; done; } | " +
           built::kProgram + " mcp";
  }

  // An agent that runs `script` until it has been answered; then it prints its prompt.
  void use_preset(const std::string& name, const std::string& script, agentflow::Preset preset) {
    preset.argv = {"sh",    "-eu",     "-c", "case \"$1\" in *Answer:*) echo \"$1\";; *) " + script + ";; esac",
                   "agent", "{prompt}"};
    presets_[name] = preset;
    restart();
  }
  std::string create_reporting(const std::string& script) {
    const agentflow::NewWorkflow asked{
        .name = "flow",
        .git_refs = std::vector<agentflow::GitRef>{{add_git(), {}}},
        .works = std::vector<agentflow::NewWork>{
            {.name = "work", .tasks = {{script, {}}}, .mcp_server_refs = {}, .wants_report = true}}};
    const Response answer = call("POST", "/agentflow/workflows", to_json(asked));
    EXPECT_EQ(answer.status, 201) << answer.body;
    return from_json<agentflow::WorkflowView>(answer.body).id;
  }
  std::vector<agentflow::QuestionView> questions(const std::string& query) {
    return from_json<Listing<agentflow::QuestionView>>(call("GET", "/agentflow/questions" + query).body).items;
  }
  agentflow::QuestionView open_question() {
    until([&] { return !questions("?status=OPEN").empty(); }, "no agent asks");
    const auto open = questions("?status=OPEN");
    return open.empty() ? agentflow::QuestionView{} : open[0];
  }
  Response answer(const agentflow::QuestionView& question, const std::string& text) {
    return call("POST", "/agentflow/works/" + question.work_id + "/questions/" + question.id,
                R"({"answer":")" + text + R"("})");
  }
  std::string output(const std::string& workflow_id) {
    return call("GET", "/agentflow/works/" + works(workflow_id)[0].id + "/tasks/1/output").body;
  }
  std::string space(const std::string& workflow_id) { return show(workflow_id).space.value_or(""); }
};

}  // namespace skald::test
