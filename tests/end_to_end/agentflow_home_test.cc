// What a workflow has done, its checkpoints by hand, the way back to one, and the way home.
#include "end_to_end/agentflow_home_site.h"

namespace skald::test {
namespace {

constexpr const char* kFirst = "echo work >> one/a.txt; echo new > two/b.txt";
constexpr const char* kSecond = "echo second > one/c.txt";

std::string text_of(const boost::json::object& diff, const std::string& git_id) {
  for (const boost::json::value& one : diff.at("items").as_array())
    if (one.at("gitId").as_string() == git_id.c_str()) return std::string(one.at("text").as_string());
  return "no such git";
}

auto integration_is(const char* status) {
  return [status](const boost::json::object& seen) {
    const auto* integration = seen.if_contains("integration");
    return integration && integration->at("status").as_string() == status;
  };
}

TEST_P(AgentflowHomeTest, ADiffShowsWhatTheWorkflowAndEachOfItsWorksHaveChanged) {
  run_workflow({kFirst, kSecond});
  write(tree("two") + "/later.txt", "later\n");
  const boost::json::object all = shown(path() + "/diff");
  EXPECT_THAT(text_of(all, git_one_), testing::AllOf(testing::HasSubstr("+work"), testing::HasSubstr("+second")));
  EXPECT_THAT(text_of(all, git_two_), testing::AllOf(testing::HasSubstr("+new"), testing::HasSubstr("+later")));
  const boost::json::array works = shown(path() + "/works").at("items").as_array();
  const auto of_work = [&](std::size_t n) {
    return shown(path() + "/diff?work=" + std::string(works.at(n).at("id").as_string()));
  };
  EXPECT_THAT(text_of(of_work(0), git_one_),
              testing::AllOf(testing::HasSubstr("+work"), testing::Not(testing::HasSubstr("second"))));
  EXPECT_THAT(text_of(of_work(1), git_one_),
              testing::AllOf(testing::HasSubstr("+second"), testing::Not(testing::HasSubstr("+work"))));
  EXPECT_EQ(text_of(of_work(1), git_two_), "") << "what came after its checkpoint is not its own";
  const boost::json::object one = shown(path() + "/diff?git=" + git_two_);
  EXPECT_EQ(one.at("items").as_array().size(), 1U);
  EXPECT_EQ(one.at("items").at(0).at("files").as_array().size(), 2U);
  EXPECT_EQ(code_of(call("GET", path() + "/diff?git=none")), "GIT_NOT_FOUND");
  EXPECT_EQ(code_of(call("GET", path() + "/diff?work=none")), "WORK_NOT_FOUND");
}

TEST_P(AgentflowHomeTest, TheTextOfADiffIsBoundedOverAllRepositories) {
  run_workflow({"yes 0123456789 | head -c 900000 > one/big.txt; cp one/big.txt two/big.txt"});
  const boost::json::object diff = shown(path() + "/diff");
  EXPECT_LE(text_of(diff, git_one_).size() + text_of(diff, git_two_).size(), std::size_t{1} << 20);
  bool truncated = false;
  for (const boost::json::value& one : diff.at("items").as_array()) {
    truncated = truncated || one.at("truncated").as_bool();
    EXPECT_EQ(one.at("files").as_array().size(), 1U);
  }
  EXPECT_TRUE(truncated);
}

TEST_P(AgentflowHomeTest, ACheckpointByHandIsTakenOncePerKeyAndNotOfACancelledWorkflow) {
  run_workflow({kFirst});
  for (int i = 0; i < 2; ++i) EXPECT_EQ(call("POST", path() + "/checkpoints", "", "my-key").status, 202);
  wait_for("the checkpoint", [&] { return checkpoints().size() == 2; });
  EXPECT_EQ(call("POST", path() + "/checkpoints", "", "my-key").status, 202);
  wait_for("the end of the saga", [&] { return last_saga("agentflow.checkpoint") == "COMPLETED"; });
  EXPECT_EQ(checkpoints().size(), 2U);
  EXPECT_FALSE(checkpoints().back().as_object().contains("workId"));
  EXPECT_EQ(checkpoints().back().at("commits").as_array().size(), 2U);
  run_workflow({"exit 3"}, "FAILED");
  EXPECT_EQ(call("POST", path() + "/cancel").status, 202);
  workflow_when([](const boost::json::object& seen) { return seen.at("status").as_string() == "CANCELLED"; });
  for (const char* act : {"/checkpoints", "/integrate"}) {
    const Response refused = call("POST", path() + act, R"({"mode":"merge"})");
    EXPECT_EQ(refused.status, 409) << refused.body;
    EXPECT_EQ(code_of(refused), "WRONG_STATE");
  }
}

TEST_P(AgentflowHomeTest, ARestorationPutsAllWorktreesBackAndKeepsWhatWasThere) {
  run_workflow({kFirst});
  const std::string good = take_checkpoint();
  write(tree("one") + "/a.txt", "spoilt\n");
  std::filesystem::remove(tree("two") + "/b.txt");
  write(tree("two") + "/stray.txt", "stray\n");
  EXPECT_EQ(call("POST", path() + "/checkpoints/" + good + "/restore").status, 202);
  wait_for("the restoration", [&] { return last_saga("agentflow.restore") == "COMPLETED"; });
  EXPECT_EQ(read(tree("one") + "/a.txt"), "first\nwork\n");
  EXPECT_EQ(read(tree("two") + "/b.txt"), "new\n");
  EXPECT_FALSE(exists(tree("two") + "/stray.txt"));
  const std::string safety(checkpoints().back().at("id").as_string());
  ASSERT_NE(safety, good);
  EXPECT_EQ(call("POST", path() + "/checkpoints/" + safety + "/restore").status, 202);
  wait_for("the way back", [&] { return last_saga("agentflow.restore") == "COMPLETED"; });
  EXPECT_EQ(read(tree("two") + "/stray.txt"), "stray\n");
  EXPECT_EQ(read(tree("one") + "/a.txt"), "spoilt\n");
  EXPECT_EQ(call("POST", path() + "/checkpoints/none/restore").status, 404);
}

TEST_P(AgentflowHomeTest, WhereOneRepositoryCannotBeRestoredThoseBeforeItAreAsTheyWere) {
  run_workflow({kFirst});
  const std::string good = take_checkpoint();
  write(tree("one") + "/a.txt", "mine\n");
  write(tree("two") + "/b.txt", "mine\n");
  int restored = 0;
  meddle([&](const std::string& what, const agentflow::Tree&, const std::string&) {
    if (what == "restore" && ++restored == 2) throw Refused("NO_REPOSITORY", "the second is away");
  });
  EXPECT_EQ(call("POST", path() + "/checkpoints/" + good + "/restore").status, 202);
  wait_for("the way back", [&] { return last_saga("agentflow.restore") == "COMPENSATED"; });
  EXPECT_EQ(restored, 3) << "the first, the second in vain, the first again";
  EXPECT_EQ(read(tree("one") + "/a.txt"), "mine\n");
  EXPECT_EQ(read(tree("two") + "/b.txt"), "mine\n");
}

TEST_P(AgentflowHomeTest, ARestorationThatGitBreaksOffHalfWayIsTakenBackInThatRepositoryToo) {
  run_workflow({kFirst});
  const std::string good = take_checkpoint();
  write(tree("one") + "/a.txt", "mine\n");
  write(tree("two") + "/b.txt", "mine\n");
  int restored = 0;
  meddle([&](const std::string& what, const agentflow::Tree& tree, const std::string&) {
    if (what != "restore" || ++restored != 2) return;
    for (const char* file : {"/a.txt", "/b.txt"}) std::filesystem::remove(tree.path + file);
    throw Refused("GIT_FAILED", "half of it");
  });
  EXPECT_EQ(call("POST", path() + "/checkpoints/" + good + "/restore").status, 202);
  wait_for("the way back", [&] { return last_saga("agentflow.restore") == "COMPENSATED"; });
  EXPECT_EQ(read(tree("one") + "/a.txt"), "mine\n");
  EXPECT_EQ(read(tree("two") + "/b.txt"), "mine\n");
  EXPECT_EQ(read(tree("two") + "/a.txt"), "first\n");
}

TEST_P(AgentflowHomeTest, ARestorationWhoseGitWasKilledIsAskedAgainAndEndsWhole) {
  run_workflow({kFirst});
  const std::string good = take_checkpoint();
  write(tree("one") + "/a.txt", "mine\n");
  write(tree("two") + "/b.txt", "mine\n");
  int killed = 0;
  meddle([&](const std::string& what, const agentflow::Tree& tree, const std::string&) {
    if (what != "restore" || tree.repository != two_ || ++killed > 5) return;
    std::filesystem::remove(tree.path + "/b.txt");
    throw Unavailable("GIT_KILLED", "git was ended by a signal");
  });
  EXPECT_EQ(call("POST", path() + "/checkpoints/" + good + "/restore").status, 202);
  wait_for("the restoration", [&] { return last_saga("agentflow.restore") == "COMPLETED"; });
  EXPECT_EQ(killed, 6) << "more often than a call that surely did nothing is tried";
  EXPECT_EQ(read(tree("one") + "/a.txt"), "first\nwork\n");
  EXPECT_EQ(read(tree("two") + "/b.txt"), "new\n");
}

TEST_P(AgentflowHomeTest, BroughtHomeTheWorkIsOnTheTargetOfEachRepository) {
  run_workflow({kFirst});
  const Response asked = call("POST", path() + "/integrate", R"({"mode":"merge"})");
  EXPECT_EQ(asked.status, 202) << asked.body;
  workflow_when(integration_is("DONE"));
  EXPECT_EQ(git(one_, {"show", "main:a.txt"}), "first\nwork");
  EXPECT_EQ(git(two_, {"show", "main:b.txt"}), "new");
  EXPECT_EQ(code_of(call("POST", path() + "/integrate", R"({"mode":"branch"})")), "BAD_INTEGRATION");
  EXPECT_EQ(code_of(call("POST", path() + "/integrate", R"({"mode":"merge","target":"--all"})")), "BAD_BRANCH");
  EXPECT_EQ(call("POST", path() + "/integrate", R"({"mode":"branch","target":"result"})").status, 202);
  wait_for("the branch", [&] { return last_saga("agentflow.integrate") == "COMPLETED"; });
  workflow_when(integration_is("DONE"));
  EXPECT_EQ(git(two_, {"show", "result:b.txt"}), "new");
}

TEST_P(AgentflowHomeTest, AConflictInOneRepositoryKeepsTheWorkFromAllAndIsNamed) {
  run_workflow({kFirst});
  const std::string two = git(two_, {"rev-parse", "main"});
  write(one_ + "/a.txt", "others\n");
  const std::string one = commit_all(one_, "Of others");
  EXPECT_EQ(call("POST", path() + "/integrate", R"({"mode":"squash"})").status, 202);
  const boost::json::object seen = workflow_when(integration_is("FAILED"));
  const boost::json::value& integration = seen.at("integration");
  EXPECT_THAT(std::string(integration.at("error").as_string()), testing::StartsWith("MERGE_CONFLICTS"));
  EXPECT_EQ(boost::json::serialize(integration.at("conflicts")),
            boost::json::serialize(
                boost::json::array{boost::json::object{{"gitId", git_one_}, {"files", boost::json::array{"a.txt"}}}}));
  EXPECT_EQ(git(one_, {"rev-parse", "main"}), one);
  EXPECT_EQ(git(two_, {"rev-parse", "main"}), two);
}

TEST_P(AgentflowHomeTest, WhereTheSecondTargetRefusesTheFirstIsTakenBack) {
  run_workflow({kFirst});
  const std::string one = git(one_, {"rev-parse", "main"}), two = git(two_, {"rev-parse", "main"});
  int moved = 0;
  meddle([&](const std::string& what, const agentflow::Tree&, const std::string&) {
    if (what == "integrate" && ++moved == 2) throw Refused("TARGET_IN_USE", "somebody works there");
  });
  EXPECT_EQ(call("POST", path() + "/integrate", R"({"mode":"merge"})").status, 202);
  const boost::json::object seen = workflow_when(integration_is("FAILED"));
  EXPECT_THAT(std::string(seen.at("integration").at("error").as_string()), testing::StartsWith("TARGET_IN_USE"));
  EXPECT_EQ(moved, 2);
  EXPECT_EQ(git(one_, {"rev-parse", "main"}), one);
  EXPECT_EQ(git(two_, {"rev-parse", "main"}), two);
}

INSTANTIATE_TEST_SUITE_P(Databases, AgentflowHomeTest, testing::Values(Dialect::sqlite, Dialect::postgres),
                         [](const auto& one) { return one.param == Dialect::sqlite ? "SQLite" : "PostgreSQL"; });

}  // namespace
}  // namespace skald::test
