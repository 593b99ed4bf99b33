#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "process/process_table.h"
#include "skald/process.h"

namespace skald {
namespace {

class RunCommand : public testing::Test {
 protected:
  CommandResult run(std::vector<std::string> argv) { return run(Command{.argv = std::move(argv)}); }
  CommandResult run(const Command& command) { return run_command(*clock_, command); }
  CommandResult script(const std::string& text) { return run({"sh", "-c", text}); }
  static bool lives(pid_t pid) {
    const auto row = process::process_row(pid);
    return row && !row->dead();
  }
  Instant now() const { return clock_->steady(); }

  std::unique_ptr<Clock> clock_ = system_clock();
};

TEST_F(RunCommand, BothOutputsAndTheCodeComeBack) {
  const CommandResult result = script("echo out; echo err >&2; exit 3");
  EXPECT_EQ(result.out, "out\n");
  EXPECT_EQ(result.err, "err\n");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_FALSE(result.ok());
  EXPECT_TRUE(script("true").ok());
}

TEST_F(RunCommand, ASignalThatEndsItIsNamed) {
  const CommandResult result = script("kill -SEGV $$");
  EXPECT_EQ(result.signal, SIGSEGV);
  EXPECT_FALSE(result.ok());
}

TEST_F(RunCommand, LargeInputAndLargeOutputAtOnceDoNotBlock) {
  const std::string much(8 << 20, 'x');
  const CommandResult result = run(Command{.argv = {"cat"}, .input = much});
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.out == much);
}

TEST_F(RunCommand, WhoReadsNoInputDoesNotKillUs) {
  EXPECT_TRUE(run(Command{.argv = {"true"}, .input = std::string(8 << 20, 'x')}).ok());
  EXPECT_TRUE(
      run(Command{.argv = {"sh", "-c", "exec <&-; echo x; sleep 0.1"}, .input = std::string(8 << 20, 'x')}).ok());
}

TEST_F(RunCommand, MoreThanTheBoundIsReadAndThrownAway) {
  const CommandResult result = run(Command{.argv = {"head", "-c", "5000000", "/dev/zero"}, .output_max = 1000});
  EXPECT_TRUE(result.ok());
  EXPECT_TRUE(result.truncated);
  EXPECT_EQ(result.out.size(), 1000U);
}

TEST_F(RunCommand, ArgumentsArriveWhole) {
  const std::vector<std::string> words = {"", "a b", "\"'$(id)`;&|*", "line\nline", "\xff\xfe"};
  std::vector<std::string> argv = {"printf", "%s\\n"};
  std::string wanted;
  for (const std::string& word : words) {
    argv.push_back(word);
    wanted += word + "\n";
  }
  EXPECT_EQ(run(argv).out, wanted);
}

TEST_F(RunCommand, OnlyTheGivenVariablesArrive) {
  setenv("SKALD_TEST_SECRET", "ours", 1);
  EXPECT_EQ(run(Command{.argv = {"env"}, .variables = {{"A", "b c"}, {"EMPTY", ""}}}).out, "A=b c\nEMPTY=\n");
  unsetenv("SKALD_TEST_SECRET");
}

TEST_F(RunCommand, NoDescriptorOfOursArrives) {
  const int ours = open("/dev/null", O_RDONLY);  // not closed by exec
  ASSERT_GE(ours, 3);
  EXPECT_EQ(run({"find", "/proc/self/fd", "-lname", "/dev/null"}).out, "");
  close(ours);
}

TEST_F(RunCommand, ItWorksInItsFolder) {
  EXPECT_EQ(run(Command{.argv = {"pwd"}, .folder = "/usr/bin"}).out, "/usr/bin\n");
}

TEST_F(RunCommand, WhatCannotBeStartedIs127AndSaysWhy) {
  const CommandResult unknown = run({"no-such-program"});
  EXPECT_EQ(unknown.exit_code, 127);
  EXPECT_EQ(unknown.err, "cannot run 'no-such-program': No such file or directory");
  const CommandResult nowhere = run(Command{.argv = {"true"}, .folder = "/no/such/folder"});
  EXPECT_EQ(nowhere.exit_code, 127);
  EXPECT_EQ(nowhere.err, "cannot work in '/no/such/folder': No such file or directory");
  EXPECT_EQ(run({"/etc/passwd"}).err, "cannot run '/etc/passwd': Permission denied");
}

TEST_F(RunCommand, AProgramIsLookedForInTheGivenPathAndNeverInARelativePlace) {
  EXPECT_EQ(run(Command{.argv = {"true"}, .variables = {{"PATH", "/etc:/proc"}}}).exit_code, 127);
  EXPECT_EQ(run(Command{.argv = {"true"}, .variables = {{"PATH", "/etc:/usr/bin"}}}).exit_code, 0);
  EXPECT_EQ(run(Command{.argv = {"true"}, .folder = "/usr/bin", .variables = {{"PATH", ".::"}}}).exit_code, 127);
}

TEST_F(RunCommand, ItsTimeIsOverForTheWholeGroup) {
  const CommandResult result =
      run(Command{.argv = {"sh", "-c", "trap '' TERM; sleep 1000 & echo $!; wait"}, .timeout = 300ms});
  EXPECT_TRUE(result.timed_out);
  EXPECT_EQ(result.signal, SIGKILL);
  EXPECT_FALSE(result.ok());
  EXPECT_FALSE(lives(std::stoi(result.out)));
}

TEST_F(RunCommand, WhatItLeavesInItsGroupIsEnded) {
  const Instant begin = now();
  const CommandResult result = script("sleep 1000 & echo $!");
  EXPECT_LT(now() - begin, 30s);
  EXPECT_TRUE(result.ok());
  EXPECT_FALSE(lives(std::stoi(result.out)));
}

TEST_F(RunCommand, ADaemonThatKeepsThePipeOpenDoesNotHoldUs) {
  const Instant begin = now();
  const CommandResult result =
      script("exec 3>&1; setsid -f sh -c 'echo $$; exec >&3 3>&-; exec sleep 1000' | head -n 1; echo here");
  EXPECT_LT(now() - begin, 30s);
  EXPECT_NE(result.out.find("here\n"), std::string::npos);
  EXPECT_EQ(kill(std::stoi(result.out), SIGKILL), 0);
}

TEST_F(RunCommand, SignalsAreAsAFreshProcessHasThem) {
  struct sigaction ignored{}, before{};
  ignored.sa_handler = SIG_IGN;
  sigaction(SIGUSR1, &ignored, &before);
  sigset_t blocked, mask;
  sigemptyset(&blocked);
  sigaddset(&blocked, SIGUSR2);
  pthread_sigmask(SIG_BLOCK, &blocked, &mask);
  EXPECT_EQ(script("kill -USR1 $$; sleep 5").signal, SIGUSR1);
  EXPECT_EQ(script("kill -USR2 $$; sleep 5").signal, SIGUSR2);
  pthread_sigmask(SIG_SETMASK, &mask, nullptr);
  sigaction(SIGUSR1, &before, nullptr);
}

TEST_F(RunCommand, AChildOfSomebodyElseIsLeftToThem) {
  const pid_t other = fork();
  if (other == 0) _exit(7);
  EXPECT_TRUE(script("true").ok());
  int status = 0;
  EXPECT_EQ(waitpid(other, &status, 0), other);
  EXPECT_EQ(WEXITSTATUS(status), 7);
}

// A process of its own calls run_command() and is killed while the script waits for a word on `gate`.
class RunCommandOfTheDead : public RunCommand {
 protected:
  RunCommandOfTheDead() {
    EXPECT_EQ(pipe(gate_), 0);
    EXPECT_EQ(pipe(said_), 0);
  }
  ~RunCommandOfTheDead() override {
    for (const int end : {gate_[0], gate_[1], said_[0], said_[1]}) close(end);
  }

  // What the script, which is left alone with the gate, says after the death of its starter; empty: it died, too.
  std::string says_after_death(bool survives) {
    const std::string ours = "/proc/" + std::to_string(getpid()) + "/fd/";
    const std::string text = "exec 3>" + ours + std::to_string(said_[1]) + "; echo begun >&3; read word < " + ours +
                             std::to_string(gate_[0]) + "; echo $word >&3";
    const pid_t starter = fork();
    if (starter == 0) {
      run(Command{.argv = {"sh", "-c", text}, .survives_us = survives});
      _exit(0);
    }
    EXPECT_EQ(read_line(), "begun");
    kill(starter, SIGKILL);
    EXPECT_EQ(waitpid(starter, nullptr, 0), starter);
    close(said_[1]);
    said_[1] = -1;
    EXPECT_EQ(write(gate_[1], "done\n", 5), 5);
    return read_line();
  }

 private:
  std::string read_line() const {
    std::string out;
    for (char byte = 0; read(said_[0], &byte, 1) == 1 && byte != '\n';) out += byte;
    return out;
  }
  int gate_[2] = {-1, -1}, said_[2] = {-1, -1};
};

TEST_F(RunCommandOfTheDead, ACommandDiesWithItsStarter) { EXPECT_EQ(says_after_death(false), ""); }

TEST_F(RunCommandOfTheDead, OneThatMaySurviveComesToItsEnd) { EXPECT_EQ(says_after_death(true), "done"); }

TEST_F(RunCommand, WordsThatNoProgramCanBeGivenAreRefused) {
  const auto code = [this](const Command& command) -> std::string {
    try {
      run(command);
      return "none";
    } catch (const Invalid& error) {
      return error.code();
    }
  };
  EXPECT_EQ(code({.argv = {}}), "BAD_COMMAND");
  EXPECT_EQ(code({.argv = {""}}), "BAD_COMMAND");
  EXPECT_EQ(code({.argv = {"true", std::string("a\0b", 3)}}), "BAD_COMMAND");
  EXPECT_EQ(code({.argv = {"true"}, .variables = {{"A=B", ""}}}), "BAD_COMMAND");
  EXPECT_EQ(code({.argv = {"true"}, .variables = {{"A", std::string("\0", 1)}}}), "BAD_COMMAND");
}

}  // namespace
}  // namespace skald
