// Agents that talk through the real `skald mcp`: they ask people, report and complete.
#include "end_to_end/agentflow_asking.h"

namespace skald::test {
namespace {

using agentflow::AgentStatus;
using agentflow::QuestionStatus;
using agentflow::TaskStatus;
using agentflow::WorkflowStatus;
using agentflow::WorkStatus;

using AgentflowAsking = AgentflowAskingTest;

TEST_P(AgentflowAsking, AnAgentThatWaitsGetsItsAnswerAlsoFromAServerThatWasStartedAgainMeanwhile) {
  const std::string id = create(add_git(), {{mcp_call("ask", R"({"question":"Which colour?"})")}});
  act(id, "start");
  auto question = open_question();
  EXPECT_EQ(question.text, "Which colour?");
  const auto work = works(id)[0];
  EXPECT_EQ(work.question.value().id, question.id);
  EXPECT_EQ(work.agent_status, AgentStatus::RUNNING);
  restart();
  const Response answered = answer(question, "blue");
  EXPECT_EQ(answered.status, 200) << answered.body;
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_NE(output(id).find(R"("text":"blue")"), std::string::npos) << output(id);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 1);
  EXPECT_FALSE(works(id)[0].question);
  EXPECT_EQ(answer(question, "blue").status, 200);
  EXPECT_EQ(flow_problem(answer(question, "red")), "QUESTION_ANSWERED");
}

TEST_P(AgentflowAsking, TheScriptedAgentAsksAsAnyOtherDoes) {
  const std::string id =
      create(add_git(), {{"ask Which colour?\nwrite colour.txt {answer}"}}, R"("agent":"scripted",)");
  act(id, "start");
  EXPECT_EQ(open_question().text, "Which colour?");
  EXPECT_EQ(answer(open_question(), "blue").status, 200);
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(output(id), "answer: blue\n");
  EXPECT_EQ(ask_git(*clock_, show(id).work_trees[0].path, {"status", "--porcelain"}), "?? colour.txt");
}

TEST_P(AgentflowAsking, AQuestionThatIsAskedWhileTheServerIsAwayIsHeardOfAfterwards) {
  const std::string id =
      create(add_git(), {{waits_for(gate()) + "; " + mcp_call("ask", R"({"question":"Still there?"})")}});
  act(id, "start");
  until([&] { return works(id)[0].agent_status == AgentStatus::RUNNING; }, "the agent does not begin");
  engine_->stop(1s);
  open_gate();
  const std::string request = space(id) + "/.skald/" + *works(id)[0].tasks[0].run + "/request-1.json";
  until([&] { return std::filesystem::exists(request); }, "the agent does not ask");
  restart();
  EXPECT_EQ(answer(open_question(), "yes").status, 200);
  becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowAsking, AnAgentThatEndsToAskBeginsAnewWithTheAnswerAndThatIsNoSecondTry) {
  use_preset("ender", mcp_call("ask", R"({"question":"Which colour?"})"),
             {.argv = {}, .on_question = agentflow::OnQuestion::end});
  const std::string id = create(add_git(), {{"paint"}}, R"("agent":"ender",)");
  act(id, "start");
  const auto question = open_question();
  until([&] { return works(id)[0].agent_status == AgentStatus::IDLE; }, "the agent is not ended");
  EXPECT_EQ(works(id)[0].status, WorkStatus::RUNNING);
  EXPECT_EQ(works(id)[0].tasks[0].status, TaskStatus::PENDING);
  EXPECT_TRUE(works(id)[0].question);
  EXPECT_EQ(answer(question, "blue").status, 200);
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(works(id)[0].tasks[0].attempt, 2);
  EXPECT_EQ(output(id),
            "paint\n\nYou have asked before, and a person has answered.\nQuestion: Which colour?\nAnswer: blue\n");
}

TEST_P(AgentflowAsking, ALastLineThatMatchesThePatternIsAQuestion) {
  use_preset("liner", "echo 'QUESTION: Which colour?'", {.argv = {}, .question_pattern = "^QUESTION: (.*)$"});
  const std::string id = create(add_git(), {{"paint"}, {"paint"}}, R"("agent":"liner",)");
  act(id, "start");
  for (int work = 0; work < 2; ++work) {
    const auto question = open_question();
    EXPECT_EQ(question.text, "Which colour?");
    EXPECT_EQ(works(id)[static_cast<std::size_t>(work)].tasks[0].status, TaskStatus::PENDING);
    EXPECT_EQ(answer(question, "blue").status, 200);
    until([&] { return works(id)[static_cast<std::size_t>(work)].status == WorkStatus::COMPLETED; }, "it stays");
  }
  becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowAsking, AQuestionWhoseAgentEndsIsWithdrawnAndCannotBeAnswered) {
  const std::string id = create(add_git(), {{mcp_say("ask", R"({"question":"Anybody?"})", 1)}});
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  const auto all = questions("");
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].status, QuestionStatus::WITHDRAWN);
  const Response late = answer(all[0], "me");
  EXPECT_EQ(late.status, 409);
  EXPECT_EQ(flow_problem(late), "QUESTION_WITHDRAWN");
  EXPECT_NE(late.body.find("its agent has ended"), std::string::npos) << late.body;
}

TEST_P(AgentflowAsking, APauseWithdrawsTheQuestionAndTheAgentThatIsResumedAsksAgain) {
  const std::string id = create(add_git(), {{mcp_call("ask", R"({"question":"Go on?"})")}});
  act(id, "start");
  const auto first = open_question();
  act(id, "pause");
  becomes(id, WorkflowStatus::PAUSED);
  EXPECT_EQ(flow_problem(answer(first, "yes")), "QUESTION_WITHDRAWN");
  act(id, "resume");
  const auto second = open_question();
  EXPECT_NE(second.id, first.id);
  EXPECT_EQ(answer(second, "yes").status, 200);
  becomes(id, WorkflowStatus::COMPLETED);
}

TEST_P(AgentflowAsking, AnAgentReportsAndCompletesItsTaskAndIsDismissed) {
  const std::string id = create_reporting(mcp_call("report", R"({"text":"All is well."})") + "\n" +
                                          mcp_call("complete", R"({"summary":"ok"})", 2) + "\nsleep 1000");
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(call("GET", "/agentflow/works/" + works(id)[0].id + "/report").body,
            R"({"workId":")" + works(id)[0].id + R"(","body":"All is well."})");
  const auto agents = agentflow::supervised_agents(*clock_, (folder_.path() / "flow/runs").string(), {});
  until([&] { return agents->look(*works(id)[0].tasks[0].run)->end.has_value(); }, "the agent is not ended");
  EXPECT_EQ(works(id)[0].tasks[0].outcome, RunOutcome::FINISHED);
}

TEST_P(AgentflowAsking, AReportThatNobodyWantsIsRefusedKindly) {
  const std::string id = create(add_git(), {{mcp_call("report", R"({"text":"x"})")}});
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_NE(output(id).find("this work wants no report"), std::string::npos) << output(id);
  EXPECT_NE(output(id).find(R"("isError":true)"), std::string::npos) << output(id);
}

TEST_P(AgentflowAsking, WhateverLiesInAMailboxHarmsNobodyAndWhatIsGoodIsTaken) {
  const std::string id = create_reporting(
      "cd $SKALD_MAILBOX; mkfifo request-1.json; ln -s /etc/passwd request-2.json; mkdir request-3.json\n"
      "head -c 2000000 /dev/zero > request-4.json; echo '{' > request-5.json; : > request-6.json\n"
      "echo '{\"kind\":\"erase\",\"text\":\"x\"}' > request-7.json; ln -s nowhere request-8.json\n" +
      mcp_call("report", R"({"text":"the ninth"})"));
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  const Response report = call("GET", "/agentflow/works/" + works(id)[0].id + "/report");
  EXPECT_NE(report.body.find("the ninth"), std::string::npos) << report.body << output(id);
  EXPECT_EQ(call("DELETE", "/agentflow/workflows/" + id).status, 202);
  until([&] { return call("GET", "/agentflow/workflows/" + id).status == 404; }, "the workflow is not deleted");
  expect_nothing_left();
}

INSTANTIATE_TEST_SUITE_P(Databases, AgentflowAsking, testing::Values(Dialect::sqlite, Dialect::postgres),
                         flow_database);

}  // namespace
}  // namespace skald::test
