// What `skald flow` sends: bodies, references by name, files.
#include "cli/flow_command_fixture.h"

namespace skald::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class FlowRequestsTest : public FlowCommandTest {
 protected:
  FlowRequestsTest() {
    answer("GET /agentflow/gits?name=shop", R"({"items":[{"id":"G1"}]})");
    answer("GET /agentflow/gits?name=web", R"({"items":[{"id":"G2"}]})");
    answer("GET /agentflow/templates?name=nightly", R"({"items":[{"id":"T1"}]})");
  }
};

TEST_F(FlowRequestsTest, AnMcpServerIsACommandBehindTwoDashesOrAUrl) {
  answer("POST /agentflow/mcp-servers", R"({"id":"M1","name":"search"})", 201);
  EXPECT_EQ(run({"mcp", "add", "search", "--env", "KEY", "--env", "MODE=a=b", "--", "find", "--all", "-v"}), kDone);
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/mcp-servers {"name":"search","command":"find","args":["--all","-v"],)"
                           R"("env":{"KEY":"${env:KEY}","MODE":"a=b"}})");
  EXPECT_THAT(out_.str(), HasSubstr("search"));
  run({"mcp", "add", "far", "--url", "https://a/mcp", "--json"});
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/mcp-servers {"name":"far","url":"https://a/mcp"})");
  EXPECT_EQ(out_.str(), "{\"id\":\"M1\",\"name\":\"search\"}\n");
}

TEST_F(FlowRequestsTest, AnMcpServerThatIsBothOrNeitherIsRefusedBeforeAnythingIsAsked) {
  EXPECT_THAT(refusal_of({"mcp", "add", "search"}), HasSubstr("USAGE"));
  EXPECT_THAT(refusal_of({"mcp", "add", "search", "--url", "https://a", "--", "find"}), HasSubstr("USAGE"));
  EXPECT_THAT(refusal_of({"mcp", "add", "search", "--env", "=x", "--", "find"}), HasSubstr("NAME=VALUE"));
  const std::string told = refusal_of({"mcp", "add", "far", "--url", "https://kim:hunter2@a/mcp"});
  EXPECT_THAT(told, HasSubstr("USAGE"));
  EXPECT_THAT(told, Not(HasSubstr("hunter2")));
  EXPECT_TRUE(asked_.empty());
}

constexpr const char* kTemplateFile =
    "name = 'nightly'\n[[gitRefs]]\ngitId = 'shop'\n[[works]]\nname = 'w'\ntasks = [{prompt = 'make'}]\n";

TEST_F(FlowRequestsTest, ATemplateIsKeptFromAFileAndReplacedOnlyIfAsked) {
  const std::string file = plan("plan.toml", kTemplateFile);
  const std::string kept = R"({"id":"T1","name":"nightly","gitRefs":[{"gitId":"G1"}],)"
                           R"("works":[{"name":"w","tasks":[{"prompt":"make"}]}]})";
  answer("POST /agentflow/templates", kept, 201);
  answer("PUT /agentflow/templates/T1", kept);
  EXPECT_EQ(run({"templates", "add", file}), kDone);
  EXPECT_THAT(asked_.back(), testing::StartsWith("POST /agentflow/templates {"));
  EXPECT_THAT(asked_.back(), HasSubstr(R"("gitId":"G1")"));
  EXPECT_THAT(out_.str(), HasSubstr("make"));
  run({"templates", "add", file, "--replace"});
  EXPECT_THAT(asked_.back(), testing::StartsWith("PUT /agentflow/templates/T1 {"));
  answer("GET /agentflow/templates?name=nightly", R"({"items":[]})");
  run({"templates", "add", file, "--replace"});
  EXPECT_THAT(asked_.back(), testing::StartsWith("POST /agentflow/templates {"));
  answer("POST /agentflow/templates", R"({"code":"NAME_TAKEN","detail":"choose another"})", 409);
  EXPECT_EQ(refusal_of({"templates", "add", file}), "NAME_TAKEN " + file + ": choose another");
}

TEST_F(FlowRequestsTest, TemplatesAreListedShownUsedAndRemovedByName) {
  const std::string one = R"({"id":"T1","name":"nightly","works":[{"name":"w","tasks":[{"prompt":"make"}]}]})";
  answer("GET /agentflow/templates?limit=3", R"({"items":[)" + one + "]}");
  answer("GET /agentflow/templates/T1", one);
  answer("DELETE /agentflow/templates/T1", one);
  answer("POST /agentflow/templates/T1/instantiate", kFlow, 201);
  answer("POST /agentflow/workflows/F1/start", kFlow, 202);
  run({"templates", "list", "--limit", "3"});
  EXPECT_THAT(out_.str(), HasSubstr("T1  nightly         0     1\n"));
  run({"templates", "show", "nightly"});
  EXPECT_THAT(out_.str(), HasSubstr("w            make"));
  run({"templates", "use", "nightly", "tonight"});
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/templates/T1/instantiate {"name":"tonight"})");
  run({"templates", "use", "nightly", "tonight", "--start"});
  EXPECT_EQ(asked_.back(), "POST /agentflow/workflows/F1/start");
  run({"templates", "remove", "nightly"});
  EXPECT_EQ(asked_.back(), "DELETE /agentflow/templates/T1");
  answer("GET /agentflow/templates?name=none", R"({"items":[]})");
  EXPECT_EQ(refusal_of({"templates", "show", "none"}),
            "BAD_REFERENCE there is no template of the name or id 'none'; `skald flow templates list` lists them");
}

TEST_F(FlowRequestsTest, AWorkflowIsModifiedByFlagsFromTheRepositoriesThatItHas) {
  answer("GET /agentflow/workflows/F1", R"({"id":"F1","gitRefs":[{"gitId":"G1","baseBranch":"main"},{"gitId":"G9"}]})");
  answer("GET /agentflow/gits?name=old", R"({"items":[{"id":"G9"}]})");
  answer("PATCH /agentflow/workflows/F1", kFlow, 202);
  EXPECT_EQ(run({"modify", "F1", "--add-git", "web", "--remove-git", "old", "--name", "better"}), kDone);
  EXPECT_EQ(asked_.back(), R"(PATCH /agentflow/workflows/F1 {"name":"better","gitRefs":[)"
                           R"({"gitId":"G1","baseBranch":"main"},{"gitId":"G2"}]})");
  run({"modify", "F1", "--name", "best"});
  EXPECT_EQ(asked_.back(), R"(PATCH /agentflow/workflows/F1 {"name":"best"})");
  EXPECT_THAT(refusal_of({"modify", "F1", "--add-git", "shop"}), HasSubstr("already"));
  EXPECT_THAT(refusal_of({"modify", "F1", "--remove-git", "web"}), HasSubstr("does not work on git 'web'"));
}

TEST_F(FlowRequestsTest, AWorkflowIsModifiedByAFileOrByFlagsAndNotByBoth) {
  answer("PATCH /agentflow/workflows/F1", kFlow, 202);
  run({"modify", "F1", plan("next.toml", "[[works]]\nname = 'more'\ntasks = [{prompt = 'make'}]\n")});
  EXPECT_EQ(asked_.back(), R"(PATCH /agentflow/workflows/F1 {"works":[{"name":"more","tasks":[{"prompt":"make"}]}]})");
  asked_.clear();
  EXPECT_THAT(refusal_of({"modify", "F1"}), HasSubstr("USAGE"));
  EXPECT_THAT(refusal_of({"modify", "F1", "next.toml", "--name", "x"}), HasSubstr("USAGE"));
  EXPECT_TRUE(asked_.empty());
}

TEST_F(FlowRequestsTest, ParallelLimitsAndPortsOfAFileGoThrough) {
  answer("POST /agentflow/workflows", kFlow, 201);
  run({"create", plan("plan.toml",
                      "name = 'n'\nlimits = {costMax = 2.5, secondsMax = 60, warnAtPercent = 80}\n"
                      "[[works]]\nname = 'w'\nparallel = 'group'\ntasks = []\n")});
  EXPECT_THAT(asked_.back(), HasSubstr(R"("parallel":"group")"));
  EXPECT_THAT(asked_.back(), HasSubstr(R"("secondsMax":60)"));
  EXPECT_THAT(asked_.back(), HasSubstr(R"("costMax":2.5E0)"));
}

TEST_F(FlowRequestsTest, QuestionsAreThoseThatAreOpenOrAllOfAWork) {
  const std::string asked = R"({"id":"Q1","workId":"W1","workflowId":"F1","text":"which \u001b[2J?","askedAt":"now"})";
  answer("GET /agentflow/questions?status=OPEN", R"({"items":[)" + asked + R"(],"nextCursor":"abc"})");
  answer("GET /agentflow/works/W1/questions", R"({"items":[)" + asked + "]}");
  EXPECT_EQ(run({"questions"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("Q1        W1    now    which \\u001b[2J?\n"));
  EXPECT_THAT(out_.str(), HasSubstr("--cursor abc"));
  run({"questions", "--work", "W1", "--json"});
  EXPECT_EQ(asked_.back(), "GET /agentflow/works/W1/questions");
  EXPECT_THAT(out_.str(), HasSubstr(R"("workflowId":"F1")"));
}

TEST_F(FlowRequestsTest, AnAnswerGoesToTheWorkThatAskedAlsoFromTheSecondPage) {
  answer("GET /agentflow/questions?limit=200&status=OPEN", R"({"items":[{"id":"Q1","workId":"W1"}],"nextCursor":"c"})");
  answer("GET /agentflow/questions?cursor=c&limit=200&status=OPEN", R"({"items":[{"id":"Q2","workId":"W2"}]})");
  answer("POST /agentflow/works/W2/questions/Q2", R"({"id":"Q2","answer":"the \"red\" one"})");
  EXPECT_EQ(run({"answer", "Q2", "the \"red\" one"}), kDone);
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/works/W2/questions/Q2 {"answer":"the \"red\" one"})");
  EXPECT_THAT(refusal_of({"answer", "Q3", "x"}), HasSubstr("NO_OPEN_QUESTION"));
}

TEST_F(FlowRequestsTest, AQueryGoesToTheAgentOfAWork) {
  answer("POST /agentflow/works/W1/queries", R"({"id":"K1","workId":"W1","text":"how far?"})", 202);
  EXPECT_EQ(run({"query", "W1", "how far?"}), kDone);
  EXPECT_THAT(asked_, Contains(R"(POST /agentflow/works/W1/queries {"text":"how far?"})"));
  EXPECT_THAT(out_.str(), HasSubstr("K1"));
}

}  // namespace
}  // namespace skald::cli
