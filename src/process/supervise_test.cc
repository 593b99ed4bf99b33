// The life of one run, as its supervisor leads it.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "process/runs_fixture.h"

namespace skald {
namespace {

using SuperviseTest = RunsTest;

TEST_F(SuperviseTest, AProgramThatExitsWithZeroHasFinished) {
  runs_->start(script("a", "echo out; echo err >&2"));
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::FINISHED);
  EXPECT_EQ(view.end->exit_code, 0);
  EXPECT_EQ(view.end->signal, std::nullopt);
  EXPECT_GT(view.pid, 0);
  EXPECT_TRUE(view.started_at.has_value());
  EXPECT_EQ(output("a"), "out\nerr\n");
  EXPECT_EQ(view.output_bytes, 8);
  EXPECT_EQ(view.output_lost, 0);
}

TEST_F(SuperviseTest, AnotherCodeIsKept) {
  runs_->start(script("a", "exit 42"));
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::EXITED);
  EXPECT_EQ(view.end->exit_code, 42);
}

TEST_F(SuperviseTest, ASignalThatEndsItIsNamed) {
  runs_->start(script("a", "kill -SEGV $$"));
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::KILLED);
  EXPECT_EQ(view.end->signal, SIGSEGV);
  EXPECT_EQ(view.end->why, "signal 11 (Segmentation fault) ended it");
}

TEST_F(SuperviseTest, WhatCannotBeStartedHasExitedWith127AndSaysWhy) {
  runs_->start({.id = "a", .argv = {"no-such-program"}, .folder = "/"});
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::EXITED);
  EXPECT_EQ(view.end->exit_code, 127);
  EXPECT_EQ(view.end->why, "cannot run 'no-such-program': No such file or directory");
  EXPECT_EQ(view.pid, 0);
}

TEST_F(SuperviseTest, StopEndsItAndSaysWho) {
  runs_->start(script("a", "echo $$; exec sleep 1000"));
  const int pid = number_from("a");
  runs_->stop("a", "somebody asked for it");
  runs_->stop("a", "another reason comes too late");
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::KILLED);
  EXPECT_EQ(view.end->signal, SIGTERM);
  EXPECT_EQ(view.end->why, "somebody asked for it");
  EXPECT_FALSE(lives(pid));
}

TEST_F(SuperviseTest, WhoIgnoresTheRequestIsKilledAfterItsGrace) {
  RunSpec spec = script("a", "trap '' TERM; echo $$; while :; do sleep 1000; done");
  spec.grace = 200ms;
  runs_->start(spec);
  const int pid = number_from("a");
  const Instant begin = clock_->steady();
  runs_->stop("a", "enough");
  const RunView view = end_of("a");
  EXPECT_GE(clock_->steady() - begin, 200ms);
  EXPECT_EQ(view.end->signal, SIGKILL);
  EXPECT_FALSE(lives(pid));
}

TEST_F(SuperviseTest, OthersOfTheGroupHaveTheirGraceWhenTheProgramWasQuicker) {
  runs_->start(script("a",
                      "sh -c 'trap \"sleep 0.3; echo cleaned; exit\" TERM; echo ready; while :; do sleep 0.05; done' & "
                      "trap 'exit 1' TERM; wait"));
  EXPECT_TRUE(eventually([&] { return output("a") == "ready\n"; }));
  runs_->stop("a", "enough");
  EXPECT_EQ(end_of("a").end->outcome, RunOutcome::KILLED);
  EXPECT_NE(output("a").find("cleaned\n"), std::string::npos) << output("a");
}

TEST_F(SuperviseTest, AStoppedProgramThatExitsByItselfIsKilledAllTheSame) {
  runs_->start(script("a", "trap 'exit 7' TERM; echo ready; while :; do sleep 0.05; done"));
  EXPECT_TRUE(eventually([&] { return output("a") == "ready\n"; }));
  runs_->stop("a", "enough");
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::KILLED);
  EXPECT_EQ(view.end->exit_code, 7);
  EXPECT_EQ(view.end->signal, SIGTERM);
}

TEST_F(SuperviseTest, ItsTimeIsOver) {
  RunSpec spec = script("a", "exec sleep 1000");
  spec.timeout = 300ms;
  runs_->start(spec);
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::KILLED);
  EXPECT_EQ(view.end->why, "its time of 1 s was over");
}

TEST_F(SuperviseTest, ADaemonThatLeftItsSessionAndIgnoresEverythingIsEndedBeforeTheEndIsWritten) {
  runs_->start(script("a",
                      "setsid -f env -i sh -c 'trap \"\" TERM HUP INT; echo $$; (setsid sleep 1000) & "
                      "while :; do sleep 1; done'; until [ -n \"$(head -n 1 " +
                          path("a", "output") + ")\" ]; do sleep 0.02; done"));
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::FINISHED);
  EXPECT_FALSE(lives(number_from("a")));
  for (const process::ProcessRow& row : process::all_processes()) EXPECT_NE(row.session, view.pid);
}

TEST_F(SuperviseTest, MoreOutputThanTheBoundIsCountedAndThrownAway) {
  RunSpec spec{.id = "a", .argv = {"head", "-c", "67108864", "/dev/zero"}, .folder = "/"};
  spec.output_max = 1 << 20;
  runs_->start(spec);
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::FINISHED);
  EXPECT_EQ(view.output_bytes, 1 << 20);
  EXPECT_EQ(view.output_lost, 63 << 20);
  EXPECT_EQ(std::filesystem::file_size(path("a", "output")), 1U << 20);
}

TEST_F(SuperviseTest, AFullDiskLosesOutputAndNotTheRun) {
  Runs without_supervisor(*clock_, folder(), {"/no/such/supervisor"});
  EXPECT_THROW(without_supervisor.start(script("a", "true")), Unavailable);
  std::filesystem::create_symlink("/dev/full", path("a", "output"));
  runs_->start(script("a", "echo 12345; sleep 0.1; echo 12345; exit 3"));
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::EXITED);
  EXPECT_EQ(view.end->exit_code, 3);
  EXPECT_EQ(view.output_lost, 12);
}

TEST_F(SuperviseTest, ARunIsStoppedWhereNoReasonCanBeWritten) {
  runs_->start(script("a", "echo $$; exec sleep 1000"));
  number_from("a");
  EXPECT_EQ(status_of(elsewhere([&] {
              signal(SIGXFSZ, SIG_IGN);
              const rlimit nothing{0, 0};
              setrlimit(RLIMIT_FSIZE, &nothing);
              runs_->stop("a", "enough");
            })),
            0);
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::KILLED);
  EXPECT_EQ(view.end->why, "it was stopped, and the disk had no room for the reason");
}

TEST_F(SuperviseTest, ArgumentsVariablesAndInputArriveWhole) {
  const std::string odd = "a b\"'$(id)`;&|*\nline\xff";
  RunSpec spec{
      .id = "a", .argv = {"sh", "-c", "cat; printf '%s|' \"$@\" \"$V\"; pwd", "sh", odd, ""}, .folder = "/usr"};
  spec.variables = {{"V", odd}, {"PATH", "/usr/bin:/bin"}};
  spec.input = std::string(1 << 20, 'i') + odd;
  runs_->start(spec);
  EXPECT_EQ(end_of("a").end->outcome, RunOutcome::FINISHED);
  EXPECT_TRUE(output("a") == spec.input + odd + "||" + odd + "|/usr\n");
}

TEST_F(SuperviseTest, NoVariableAndNoDescriptorOfOursArrives) {
  setenv("SKALD_TEST_SECRET", "ours", 1);
  const int ours = open("/etc/passwd", O_RDONLY);  // not closed by exec
  runs_->start({.id = "a", .argv = {"env"}, .folder = "/"});
  runs_->start({.id = "b", .argv = {"find", "/proc/self/fd", "-printf", "%l\n"}, .folder = "/"});
  runs_->start(script("c", "ls -l /proc/$PPID/fd; tr '\\0' '\\n' < /proc/$PPID/environ"));
  for (const char* id : {"a", "b", "c"}) {
    EXPECT_EQ(end_of(id).end->outcome, RunOutcome::FINISHED);
    EXPECT_EQ(output(id).find("SKALD_TEST_SECRET"), std::string::npos) << output(id);
    EXPECT_EQ(output(id).find("/etc/passwd"), std::string::npos) << output(id);
  }
  EXPECT_EQ(output("a").find("SKALD_RUN="), 0U);
  EXPECT_EQ(output("a").find('\n'), output("a").size() - 1);  // that one alone
  EXPECT_EQ(output("b").find("lock"), std::string::npos) << output("b");
  close(ours);
  unsetenv("SKALD_TEST_SECRET");
}

TEST_F(SuperviseTest, WhatARunIsGivenIsNowhereOnDisk) {
  RunSpec spec = script("a", "echo $$; exec sleep 1000 # word-of-secret");
  spec.variables = {{"V", "value-of-secret"}};
  spec.secrets = {"value-of-secret"};
  spec.input = "input-of-secret";
  runs_->start(spec);
  number_from("a");
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder())) {
    if (!entry.is_regular_file()) continue;
    EXPECT_EQ(process::read_small_file(entry.path()).value_or("").find("of-secret"), std::string::npos) << entry.path();
    EXPECT_EQ(entry.status().permissions() & std::filesystem::perms(0077), std::filesystem::perms(0)) << entry.path();
  }
}

TEST_F(SuperviseTest, ASecretThatComesInTwoPartsIsNeverKept) {
  RunSpec spec = script("a", "echo 1; printf 'key: value-of'; read word < " + gate() + "; echo -secret; printf value-");
  spec.secrets = {"value-of-secret", "short"};
  runs_->start(spec);
  EXPECT_TRUE(eventually([&] { return output("a") == "1\nkey: "; })) << output("a");
  open_gate();
  const RunView view = end_of("a");
  EXPECT_EQ(output("a"), "1\nkey: ***\nvalue-");
  EXPECT_EQ(view.output_lost, 0);
}

TEST_F(SuperviseTest, WhereTheOutputIsCutNoPartOfASecretIsKept) {
  RunSpec spec = script("a", "printf 'a value-of-secret b'");
  spec.secrets = {"value-of-secret"};
  spec.output_max = 4;
  runs_->start(spec);
  const RunView view = end_of("a");
  EXPECT_EQ(output("a"), "a **");
  EXPECT_EQ(view.output_lost, 3);
}

TEST_F(SuperviseTest, SignalsToTheSupervisorDoNotEndTheRun) {
  runs_->start(script("a", "echo $$; read word < " + gate() + "; echo $word"));
  number_from("a");
  for (const int number : {SIGTERM, SIGINT, SIGHUP}) EXPECT_EQ(kill(supervisor_of("a"), number), 0);
  EXPECT_FALSE(ended("a"));
  open_gate();
  EXPECT_EQ(end_of("a").end->outcome, RunOutcome::FINISHED);
  EXPECT_NE(output("a").find("open\n"), std::string::npos);
}

TEST_F(SuperviseTest, ASupervisorThatIsStartedByHandRefuses) {
  std::vector<std::string> argv = supervisor();
  argv.push_back(folder());
  const CommandResult result = run_command(*clock_, {.argv = argv});
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_NE(result.err.find("not by hand"), std::string::npos);
}

}  // namespace
}  // namespace skald
