// skald flow … --wait, and what comes home.
#include "cli/flow_command_fixture.h"

namespace skald::cli {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;

class FlowAwaitTest : public FlowCommandTest {
 protected:
  // The act's saga is S1; another workflow has a newer one.
  void accept(const std::string& method, const std::string& path, const std::string& type) {
    answer(method + " /agentflow/workflows/F1" + path, kFlow, 202);
    answer("GET /api/sagas?limit=200&type=agentflow." + type,
           R"({"items":[{"id":"S2","state":{"workflowId":"F2"}},{"id":"S1","state":{"workflowId":"F1"}}]})");
    saga("RUNNING");
    becomes("RUNNING");
  }
  void saga(const std::string& status, const std::string& more = "") {
    answer("GET /api/sagas/S1", R"({"id":"S1","status":")" + status + "\"" + more + "}");
  }
  void becomes(const std::string& status, const std::string& more = "") {
    answer("GET /agentflow/workflows/F1", R"({"id":"F1","name":"greet","status":")" + status + "\"" + more +
                                              R"(,"works":[{"id":"W1","name":"write","status":"RUNNING"}]})");
  }
};

TEST_F(FlowAwaitTest, AStartIsFollowedUntilTheWorksAreDone) {
  accept("POST", "/start", "start");
  becomes("STARTING");
  between_ = {[this] { saga("COMPLETED"), becomes("READY"); }, [this] { becomes("RUNNING"); }, [] {},
              [this] { becomes("COMPLETED"); }};
  EXPECT_EQ(run({"start", "F1", "--wait"}), kDone);
  EXPECT_EQ(looks_, 4u);
  EXPECT_EQ(progress_.str(),
            "STARTING, 0 of 1 works done, write runs\nREADY, 0 of 1 works done, write runs\n"
            "RUNNING, 0 of 1 works done, write runs\nCOMPLETED, 0 of 1 works done, write runs\n");
  EXPECT_THAT(out_.str(), HasSubstr("COMPLETED"));
}

TEST_F(FlowAwaitTest, AWorkflowThatFailsFailsTheCommandAndSaysWhatToDo) {
  accept("POST", "/resume", "resume");
  saga("COMPLETED");
  between_ = {[this] { becomes("FAILED", R"(,"error":"work write failed")"); }};
  EXPECT_EQ(run({"resume", "F1", "--wait"}), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("the workflow is FAILED: work write failed; `skald flow show F1`"));
  looks_ = 0;
  becomes("RUNNING");
  EXPECT_EQ(run({"resume", "F1", "--wait", "--json"}), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr(R"({"done":false,"why":"the workflow is FAILED)"));
}

TEST_F(FlowAwaitTest, AStartThatTakesItselfBackIsToldWithItsReason) {
  accept("POST", "/start", "start");
  between_ = {[this] {
    saga("COMPENSATED", R"(,"error":{"code":"NO_REPOSITORY","message":"it has moved"})");
    becomes("CREATED");
  }};
  EXPECT_EQ(run({"start", "F1", "--wait"}), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("start was not done: it has moved (NO_REPOSITORY)"));
}

TEST_F(FlowAwaitTest, ADeletionIsThroughWhenTheWorkflowIsGone) {
  accept("DELETE", "", "delete");
  between_ = {[this] {
    saga("COMPLETED");
    answer("GET /agentflow/workflows/F1", R"({"code":"WORKFLOW_NOT_FOUND","detail":"there is none"})", 404);
  }};
  EXPECT_EQ(run({"delete", "F1", "--wait"}), kDone);
  EXPECT_EQ(out_.str(), "the workflow is gone\n");
  saga("NEEDS_HELP");
  EXPECT_EQ(run({"delete", "F1", "--wait"}), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("`skald sagas show S1`"));
}

TEST_F(FlowAwaitTest, ACheckpointIsTakenAndOneIsRestored) {
  accept("POST", "/checkpoints", "checkpoint");
  accept("POST", "/checkpoints/C1/restore", "restore");
  saga("COMPLETED");
  EXPECT_EQ(run({"checkpoint", "F1"}), kDone);
  EXPECT_EQ(asked_.back(), "POST /agentflow/workflows/F1/checkpoints");
  EXPECT_EQ(run({"checkpoint", "F1", "--wait"}), kDone);
  EXPECT_EQ(run({"restore", "F1", "C1", "--wait"}), kDone);
  EXPECT_THAT(asked_, Contains("POST /agentflow/workflows/F1/checkpoints/C1/restore"));
  EXPECT_EQ(looks_, 0u);
}

TEST_F(FlowAwaitTest, AChangeIsFollowedUntilItIsMade) {
  accept("PATCH", "", "modify");
  becomes("PAUSED");
  between_ = {[this] { saga("COMPLETED"); }};
  EXPECT_EQ(run({"modify", "F1", "--name", "other", "--wait"}), kDone);
  EXPECT_EQ(looks_, 1u);
}

TEST_F(FlowAwaitTest, AnIntegrationSaysItsModeAndTarget) {
  answer("POST /agentflow/workflows/F1/integrate", kFlow, 202);
  run({"integrate", "F1"});
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/workflows/F1/integrate {"mode":"merge"})");
  run({"integrate", "F1", "--mode", "squash", "--target", "main"});
  EXPECT_EQ(asked_.back(), R"(POST /agentflow/workflows/F1/integrate {"mode":"squash","target":"main"})");
}

TEST_F(FlowAwaitTest, ConflictsAreShownByFileAndFailTheCommand) {
  accept("POST", "/integrate", "integrate");
  answer("GET /agentflow/gits/G1", R"({"id":"G1","name":"shop"})");
  between_ = {[this] {
    saga("COMPENSATED", R"(,"error":{"code":"MERGE_CONFLICTS","message":"both have changed 2 files"})");
    becomes("COMPLETED", R"(,"integration":{"mode":"squash","status":"FAILED",)"
                         R"("conflicts":[{"gitId":"G1","files":["a.txt","b/c.txt"]}]})");
  }};
  EXPECT_EQ(run({"integrate", "F1", "--mode", "squash", "--wait"}), kFailed);
  EXPECT_THAT(out_.str(), HasSubstr("GIT   CONFLICT IN\nshop  a.txt\nshop  b/c.txt\n"));
  EXPECT_THAT(out_.str(), HasSubstr("integrate was not done: both have changed 2 files (MERGE_CONFLICTS)"));
  saga("COMPLETED");
  becomes("COMPLETED", R"(,"integration":{"mode":"squash","status":"DONE"})");
  EXPECT_EQ(run({"integrate", "F1", "--mode", "squash", "--wait"}), kDone);
  EXPECT_THAT(out_.str(), HasSubstr("squash is DONE"));
}

class FlowDiffTest : public FlowCommandTest {
 protected:
  FlowDiffTest() {
    answer("GET /agentflow/gits/G1", R"({"id":"G1","name":"shop"})");
    answer("GET /agentflow/gits?name=shop", R"({"items":[{"id":"G1"}]})");
    answer("GET /agentflow/workflows/F1/diff", kDiff);
    answer("GET /agentflow/workflows/F1/diff?git=G1&work=W1", kDiff);
  }
  static constexpr const char* kDiff =
      R"({"items":[{"gitId":"G1","files":[{"path":"a.txt","kind":"modified","linesAdded":1,"linesDeleted":2},)"
      R"({"path":"new.bin","oldPath":"old.bin","kind":"renamed","binary":true}],)"
      R"("text":"@@ -1 +1 @@\n-old\n+new\u001b[2J\n same\n","truncated":true}]})";
};

TEST_F(FlowDiffTest, ADiffNamesItsFilesAndIsPlainWithoutATerminal) {
  EXPECT_EQ(run({"diff", "F1"}), kDone);
  EXPECT_EQ(out_.str(),
            "shop: 2 files changed\n"
            "CHANGE    LINES   FILE\n"
            "modified  +1 -2   a.txt\n"
            "renamed   binary  old.bin -> new.bin\n"
            "\n@@ -1 +1 @@\n-old\n+new\\u001b[2J\n same\n"
            "the text is cut here: name one repository with --git, or one work\n");
  run({"diff", "F1", "--stat"});
  EXPECT_THAT(out_.str(), Not(HasSubstr("@@")));
  EXPECT_THAT(out_.str(), HasSubstr("a.txt"));
}

TEST_F(FlowDiffTest, ATerminalGetsColoursAndNothingThatAnAgentWroteSteersIt) {
  colours_ = true;
  run({"diff", "F1"});
  EXPECT_THAT(out_.str(), HasSubstr("\033[31m-old\033[0m\n\033[32m+new\\u001b[2J\033[0m\n same\n"));
}

TEST_F(FlowDiffTest, ADiffIsOfOneWorkAndOneRepositoryByItsName) {
  run({"diff", "F1", "--git", "shop", "--work", "W1", "--json"});
  EXPECT_THAT(asked_, Contains("GET /agentflow/workflows/F1/diff?git=G1&work=W1"));
  EXPECT_THAT(out_.str(), HasSubstr(R"("name":"shop")"));
}

}  // namespace
}  // namespace skald::cli
