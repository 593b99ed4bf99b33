// Agents in a sandbox by the real bwrap: what they reach, and what they do not.
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "end_to_end/agentflow_asking.h"

namespace skald::test {
namespace {

namespace fs = std::filesystem;
using agentflow::Sandbox;
using agentflow::WorkflowStatus;

class AgentflowBoundsSandbox : public AgentflowAskingTest {
 protected:
  AgentflowBoundsSandbox() {
    fs::create_directories(folder_.path() / "home/given");
    write("home/secret", "of a person\n");
    write("home/given/file", "given\n");
    write("data", "of the server\n");
    options_.variables = {{"HOME", path("home")}};
    presets_["enclosed"] = {.argv = {"sh", "-eu", "-s"}, .sandbox = Sandbox::required, .readable = {"~/given"}};
    restart();
  }

  std::string path(const std::string& name) const { return (folder_.path() / name).string(); }
  void write(const std::string& name, const std::string& text) const { std::ofstream(folder_.path() / name) << text; }
  std::string begin(const std::string& script) {
    const std::string id = create(add_git(), {{script + "\nexit"}}, R"("agent":"enclosed",)");
    act(id, "start");
    return id;
  }
  // What the script prints when it is through.
  std::string said(const std::string& script) {
    const std::string id = begin(script);
    becomes(id, WorkflowStatus::COMPLETED);
    return output(id);
  }
  static std::string tries(const std::string& command) {
    return "(" + command + ") 2>/dev/null && echo yes || echo no\n";
  }
  // Whether any process has that word among its arguments.
  static bool runs_somewhere(const std::string& word) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator("/proc", error)) {
      std::ifstream file(entry.path() / "cmdline");
      std::ostringstream words;
      words << file.rdbuf();  // a process that is gone meanwhile has none
      if (words.str().find(word + '\0') != std::string::npos) return true;
    }
    return false;
  }
};

TEST_P(AgentflowBoundsSandbox, AnAgentWritesToItsSpaceAndCommitsAndToNothingElse) {
  const std::string git = "git -c user.name=a -c user.email=a@example.invalid ";
  const std::string id =
      begin("echo new > new.txt; " + git + "add new.txt; " + git + "commit -qm new; echo more >> new.txt\n" +
            "echo x > $SKALD_SPACE/note; echo x > /tmp/skald-test\n" + tries("echo x > /usr/local/skald-test") +
            tries("echo x > /etc/skald-test") + tries("echo x > " + path("repo/.git/HEAD")) +
            tries("git config user.name other") + tries("echo x > " + path("repo/.git/hooks/post-commit")) +
            tries("git update-ref refs/heads/main HEAD") + tries("echo x > " + path("repo/first.txt") + "; false"));
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(output(id), "no\nno\nno\nno\nno\nno\nno\n");
  const auto tree = show(id).work_trees[0];
  EXPECT_EQ(ask_git(*clock_, tree.path, {"log", "-1", "--format=%s"}), "new");
  EXPECT_EQ(ask_git(*clock_, tree.path, {"diff", "--name-only"}), "new.txt");
  EXPECT_EQ(ask_git(*clock_, path("repo"), {"status", "--porcelain"}), "");
  EXPECT_TRUE(fs::exists(*show(id).space + "/note"));
  EXPECT_FALSE(fs::exists("/tmp/skald-test"));
  expect_invariants();
}

TEST_P(AgentflowBoundsSandbox, HomesTheDataOfTheServerAndOtherProcessesAreNotSeen) {
  EXPECT_EQ(said(tries("cat ~/secret") + "cat ~/given/file\n" + tries("ls " + path("data")) +
                 tries("ls " + path("flow/runs")) + "ls /proc | grep -c '^[0-9]' | awk '{print ($1 < 12)}'\n"),
            "no\ngiven\nno\nno\n1\n");
}

TEST_P(AgentflowBoundsSandbox, TheNetworkIsOursOrNone) {
  const std::string ours = fs::read_symlink("/proc/self/ns/net").string();
  EXPECT_EQ(said("readlink /proc/self/ns/net"), ours + "\n");
  presets_["enclosed"].network = false;
  restart();
  const std::string id =
      create(from_json<Listing<agentflow::GitView>>(call("GET", "/agentflow/gits").body).items[0].id,
             {{"readlink /proc/self/ns/net; tail -n +2 /proc/net/route | wc -l; exit"}}, R"("agent":"enclosed",)");
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_TRUE(output(id).ends_with("\n0\n")) << output(id);
  EXPECT_EQ(output(id).find(ours), std::string::npos) << output(id);
}

TEST_P(AgentflowBoundsSandbox, AnAgentDiesWithItsSupervisorAndAtAPause) {
  const std::string time = "1000." + std::to_string(getpid());  // by which its processes are known
  const std::string id = begin("setsid sleep " + time + " & sleep " + time);
  until([&] { return runs_somewhere(time); }, "the agent does not begin");
  act(id, "pause");
  becomes(id, WorkflowStatus::PAUSED);
  until([&] { return !runs_somewhere(time); }, "the agent outlives the pause");
  act(id, "resume");
  until([&] { return runs_somewhere(time); }, "the agent does not begin again");
  const std::string run = works(id)[0].tasks[0].run.value();
  engine_->stop(1s);
  std::ifstream file(path("flow/runs/" + run + "/supervised"));
  pid_t supervisor = 0;
  file >> supervisor;
  ASSERT_GT(supervisor, 0);
  ::kill(supervisor, SIGKILL);
  until([&] { return !runs_somewhere(time); }, "the agent outlives its supervisor");
  restart();
  act(id, "cancel");
  becomes(id, WorkflowStatus::CANCELLED);
}

TEST_P(AgentflowBoundsSandbox, ALinkThatLeadsOutOfTheSpaceLeadsNowhere) {
  const std::string target = path("data");
  const std::string id = create(add_git(),
                                {{"ln -s " + target + " data; ln -s /etc etc; " + tries("cat data") +
                                      tries("echo x > etc/skald-test") + "echo x > data || true\nexit",
                                  "echo gitdir: $SKALD_SPACE > .git\nexit"},
                                 {"true\nexit"}},
                                R"("agent":"enclosed",)");
  act(id, "start");
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_EQ(output(id), "no\nno\n");
  std::ifstream file(target);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(file), {}), "of the server\n");
}

TEST_P(AgentflowBoundsSandbox, AnAgentCannotTellOurGitWhatToRun) {
  const std::string evil = "mkdir evil; cp -r " + path("repo/.git") +
                           "/. evil/ 2>/dev/null || true\n"
                           "dir=$(git rev-parse --git-dir)\n";
  EXPECT_EQ(said(evil + tries("echo $SKALD_SPACE/evil > $dir/commondir") + tries("mv $dir/commondir $dir/other") +
                 tries("echo '[core] fsmonitor = true' > $dir/config.worktree") + tries("rm $dir/config.worktree")),
            "no\nno\nno\nno\n");
}

TEST_P(AgentflowBoundsSandbox, OneThatAsksAPersonReachesItsMailbox) {
  const std::string id = begin(mcp_call("ask", R"({"question":"Which colour?"})"));
  EXPECT_EQ(answer(open_question(), "blue").status, 200);
  becomes(id, WorkflowStatus::COMPLETED);
  EXPECT_NE(output(id).find(R"("text":"blue")"), std::string::npos) << output(id);
}

TEST_P(AgentflowBoundsSandbox, WhereThereIsNoBwrapItIsRefusedOrDoneWithoutAndTold) {
  options_.bwrap = "no-such-bwrap";
  restart();
  const std::string refused = begin("true");
  becomes(refused, WorkflowStatus::FAILED);
  EXPECT_NE(show(refused).error.value_or("").find("NO_SANDBOX"), std::string::npos) << to_json(show(refused));
  presets_["enclosed"].sandbox = Sandbox::wanted;
  restart();
  act(refused, "resume");
  becomes(refused, WorkflowStatus::COMPLETED);
  EXPECT_NE(call("GET", "/agentflow/workflows/" + refused + "/story").body.find("runs without a sandbox"),
            std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Both, AgentflowBoundsSandbox, testing::Values(Dialect::sqlite, Dialect::postgres),
                         flow_database);

}  // namespace
}  // namespace skald::test
