// Many starters and lookers, some of whom die.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>

#include "process/descriptor.h"
#include "process/runs_fixture.h"

namespace skald {
namespace {

std::string code_of(const std::function<void()>& act) {
  try {
    act();
    return "none";
  } catch (const Error& error) {
    return error.code();
  }
}

TEST_F(RunsTest, ARunOutlivesItsStarterAndIsFoundAgain) {
  const pid_t starter = elsewhere([&] {
    Runs runs(*clock_, folder(), supervisor());
    runs.start(script("a", "echo before; read x < " + gate() + "; head -c 300000 /dev/zero; echo after"));
    raise(SIGKILL);
  });
  EXPECT_TRUE(WIFSIGNALED(status_of(starter)));
  Runs anew(*clock_, folder(), supervisor());
  const auto view = anew.look("a");
  ASSERT_TRUE(view);
  EXPECT_FALSE(view->end);
  EXPECT_EQ(anew.list(), std::vector<std::string>{"a"});
  open_gate();
  EXPECT_EQ(end_of("a").end->outcome, RunOutcome::FINISHED);
  EXPECT_EQ(output("a").size(), 300000 + std::string("before\nafter\n").size());
  EXPECT_EQ(output("a").substr(300007), "after\n");
}

TEST_F(RunsTest, ASupervisorThatIsKilledLeavesAnInterruptedRunAndNoProcess) {
  runs_->start(script("a",
                      "echo $$; sleep 1001 & setsid -f sh -c 'echo $$; exec sleep 1002'; env -i sleep 1003 & "
                      "trap '' TERM; wait"));
  EXPECT_TRUE(eventually([&] {
    const std::string text = output("a");
    return std::count(text.begin(), text.end(), '\n') == 2;
  }));
  const std::string said = output("a");
  EXPECT_TRUE(eventually([&] { return runs_->look("a")->pid > 0; }));
  kill(supervisor_of("a"), SIGKILL);
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::INTERRUPTED);
  EXPECT_FALSE(view.end->why.empty());
  EXPECT_FALSE(lives(std::stoi(said)));
  EXPECT_FALSE(lives(std::stoi(said.substr(said.find('\n')))));
  for (const process::ProcessRow& row : process::all_processes())
    EXPECT_TRUE(row.dead() || row.session != view.pid) << row.pid;
  runs_->start(script("a", "echo again"));
  EXPECT_EQ(runs_->look("a")->end->outcome, RunOutcome::INTERRUPTED);
}

TEST_F(RunsTest, ManyLookersAtOnceWriteOneEnd) {
  runs_->start(script("a", "echo $$; exec sleep 1000"));
  number_from("a");
  kill(supervisor_of("a"), SIGKILL);
  std::vector<pid_t> lookers;
  for (int i = 0; i < 8; ++i)
    lookers.push_back(elsewhere([&] {
      Runs runs(*clock_, folder(), supervisor());
      for (const Instant latest = clock_->steady() + 30s; clock_->steady() < latest; poll(nullptr, 0, 1))
        if (const auto end = runs.look("a")->end) _exit(static_cast<int>(to_micros(end->at) % 199));
      _exit(255);
    }));
  const int first = WEXITSTATUS(status_of(lookers.front()));
  EXPECT_NE(first, 255);
  for (std::size_t i = 1; i < lookers.size(); ++i) EXPECT_EQ(WEXITSTATUS(status_of(lookers[i])), first);
}

TEST_F(RunsTest, ManyStartersAtOnceMakeOneRun) {
  for (int round = 0; round < 5; ++round) {
    const std::string id = "a" + std::to_string(round), trace = place_ + "/trace" + std::to_string(round);
    std::vector<pid_t> starters;
    for (int i = 0; i < 6; ++i)
      starters.push_back(elsewhere([&] {
        Runs runs(*clock_, folder(), supervisor());
        runs.start(script(id, "echo x >> " + trace));
      }));
    for (const pid_t starter : starters) EXPECT_EQ(status_of(starter), 0);
    EXPECT_EQ(end_of(id).end->outcome, RunOutcome::FINISHED);
    EXPECT_EQ(process::read_small_file(trace).value_or(""), "x\n");
  }
}

TEST_F(RunsTest, ARunWhoseStarterDiedBeforeTheLaunchIsLaunchedByTheNext) {
  Runs without_supervisor(*clock_, folder(), {"/no/such/supervisor"});
  EXPECT_EQ(code_of([&] { without_supervisor.start(script("a", "true")); }), "RUN_NOT_STARTED");
  const auto view = runs_->look("a");
  ASSERT_TRUE(view);
  EXPECT_EQ(view->pid, 0);
  EXPECT_FALSE(view->end);
  runs_->start(script("a", "echo now"));
  EXPECT_EQ(end_of("a").end->outcome, RunOutcome::FINISHED);
  EXPECT_EQ(output("a"), "now\n");
}

TEST_F(RunsTest, ASupervisorThatTakesNothingIsAnErrorThatSaysWhatItSaid) {
  Runs wrong(*clock_, folder(), {"sh", "-c", "echo not today >&2", "sh"});
  try {
    wrong.start(script("a", "true"));
    ADD_FAILURE();
  } catch (const Unavailable& error) {
    EXPECT_EQ(error.code(), "RUN_NOT_STARTED");
    EXPECT_NE(std::string(error.what()).find("not today"), std::string::npos) << error.what();
  }
}

TEST_F(RunsTest, WhatIsStoppedBeforeItBeginsNeverBegins) {
  Runs without_supervisor(*clock_, folder(), {"/no/such/supervisor"});
  EXPECT_THROW(without_supervisor.start(script("a", "true")), Unavailable);
  runs_->stop("a", "no more");
  runs_->start(script("a", "touch " + place_ + "/begun"));
  const RunView view = end_of("a");
  EXPECT_EQ(view.end->outcome, RunOutcome::KILLED);
  EXPECT_EQ(view.end->why, "no more");
  EXPECT_EQ(view.pid, 0);
  EXPECT_FALSE(std::filesystem::exists(place_ + "/begun"));
}

TEST_F(RunsTest, WhatIsPreventedBeforeItIsStartedNeverBegins) {
  runs_->prevent("a", "nobody wants it");
  runs_->start(script("a", "touch " + place_ + "/begun"));
  const auto view = runs_->look("a");
  ASSERT_TRUE(view && view->end);
  EXPECT_EQ(view->end->outcome, RunOutcome::KILLED);
  EXPECT_EQ(view->end->why, "nobody wants it");
  EXPECT_EQ(view->pid, 0);
  EXPECT_FALSE(process::read_small_file(place_ + "/begun"));
}

TEST_F(RunsTest, APreventionBesideAStartEndsTheRun) {
  for (int round = 0; round < 10; ++round) {
    const std::string id = "a" + std::to_string(round);
    const pid_t starter = elsewhere([&] {
      Runs runs(*clock_, folder(), supervisor());
      runs.start(script(id, "sleep 600"));
    });
    runs_->prevent(id, "nobody wants it");
    status_of(starter);
    EXPECT_EQ(end_of(id).end->outcome, RunOutcome::KILLED);
  }
}

TEST_F(RunsTest, ASupervisorThatFindsAStopDoesNotBegin) {
  Runs without_supervisor(*clock_, folder(), {"/no/such/supervisor"});
  EXPECT_THROW(without_supervisor.start(script("a", "true")), Unavailable);
  ASSERT_EQ(process::write_small_file(folder() + "/a", "stop", "no more", process::Durable::no), 0);
  runs_->start(script("a", "touch " + place_ + "/begun"));
  EXPECT_EQ(end_of("a").end->why, "no more");
  EXPECT_EQ(runs_->look("a")->pid, 0);
  EXPECT_FALSE(std::filesystem::exists(place_ + "/begun"));
}

TEST_F(RunsTest, StartingWhatHasEndedLeavesItAsItIs) {
  runs_->start(script("a", "echo once"));
  const RunView view = end_of("a");
  runs_->start(script("a", "echo twice"));
  EXPECT_EQ(runs_->look("a")->end->at, view.end->at);
  EXPECT_EQ(output("a"), "once\n");
}

TEST_F(RunsTest, IdsThatAreNoNameOfAFolderAreRefused) {
  for (const std::string& id :
       {std::string("../x"), std::string(), std::string("."), std::string(".hidden"), std::string("a/b"),
        std::string("a b"), std::string("a\0b", 3), std::string(121, 'a')}) {
    EXPECT_EQ(code_of([&] { runs_->start(script(id, "true")); }), "BAD_RUN_ID") << id;
    EXPECT_EQ(code_of([&] { runs_->look(id); }), "BAD_RUN_ID") << id;
    EXPECT_EQ(code_of([&] { runs_->stop(id, ""); }), "BAD_RUN_ID") << id;
    EXPECT_EQ(code_of([&] { runs_->forget(id); }), "BAD_RUN_ID") << id;
    EXPECT_EQ(code_of([&] { runs_->output(id, 0, 1); }), "BAD_RUN_ID") << id;
  }
  EXPECT_TRUE(runs_->list().empty());
}

TEST_F(RunsTest, WhatIsNotThereIsNotThere) {
  EXPECT_FALSE(runs_->look("a"));
  EXPECT_EQ(runs_->output("a", 0, 10), "");
  runs_->stop("a", "why");
  runs_->forget("a");
  EXPECT_FALSE(std::filesystem::exists(folder() + "/a"));
}

TEST_F(RunsTest, OutputIsReadFromAnyOffset) {
  runs_->start(script("a", "printf 0123456789"));
  end_of("a");
  EXPECT_EQ(runs_->output("a", 0, 4), "0123");
  EXPECT_EQ(runs_->output("a", 4, 100), "456789");
  EXPECT_EQ(runs_->output("a", 10, 100), "");
  EXPECT_EQ(runs_->output("a", 1'000'000'000'000, 100), "");
  EXPECT_EQ(runs_->output("a", -5, 2), "01");
}

TEST_F(RunsTest, OutputIsThereWhileItRuns) {
  runs_->start(script("a", "echo first; exec sleep 1000"));
  EXPECT_TRUE(eventually([&] { return output("a") == "first\n"; }));
  EXPECT_FALSE(ended("a"));
}

TEST_F(RunsTest, AnEndedRunIsForgottenAndALivingOneIsNot) {
  runs_->start(script("a", "echo $$; exec sleep 1000"));
  number_from("a");
  EXPECT_EQ(code_of([&] { runs_->forget("a"); }), "RUN_LIVES");
  runs_->stop("a", "enough");
  end_of("a");
  runs_->forget("a");
  EXPECT_FALSE(runs_->look("a"));
  EXPECT_TRUE(std::filesystem::is_empty(folder()));
  runs_->start(script("a", "echo anew"));
  EXPECT_EQ(end_of("a").end->outcome, RunOutcome::FINISHED);
  EXPECT_EQ(output("a"), "anew\n");
}

TEST_F(RunsTest, WhatDeadStartersAndForgettersLeftIsSweptUpByTheNextAndWhatIsBeingMadeIsNot) {
  const pid_t dead = elsewhere([] {});
  waitpid(dead, nullptr, 0);
  const std::string of_dead = "/.new-" + std::to_string(dead), of_us = "/.new-" + std::to_string(getpid());
  for (const std::string& name :
       {std::string("/.gone-1"), of_dead + "-a", of_dead + "-b", of_dead + "-c", of_us + "-a"})
    std::filesystem::create_directories(folder() + name);
  for (const char* name : {"-b", "-c"}) process::write_small_file(folder() + of_dead + name, "lock", "", {});
  const process::Descriptor held(open((folder() + of_dead + "-c/lock").c_str(), O_RDWR | O_CLOEXEC));
  ASSERT_EQ(::flock(held.get(), LOCK_EX | LOCK_NB), 0);
  Runs(*clock_, folder(), supervisor());
  const auto exists = [&](const std::string& name) { return std::filesystem::exists(folder() + name); };
  EXPECT_FALSE(exists("/.gone-1"));
  EXPECT_FALSE(exists(of_dead + "-a"));
  EXPECT_FALSE(exists(of_dead + "-b"));
  EXPECT_TRUE(exists(of_dead + "-c")) << "its maker is one of another container";
  EXPECT_TRUE(exists(of_us + "-a"));
}

TEST_F(RunsTest, ForgettingAnInterruptedRunEndsWhatIsLeftOfIt) {
  runs_->start(script("a", "setsid -f sh -c 'echo $$; exec sleep 1000'; exec sleep 1000"));
  const int daemon = number_from("a");
  kill(supervisor_of("a"), SIGKILL);
  EXPECT_TRUE(eventually([&] { return code_of([&] { runs_->forget("a"); }) == "none"; }));
  EXPECT_FALSE(runs_->look("a"));
  EXPECT_FALSE(lives(daemon));
}

}  // namespace
}  // namespace skald
