#include "env/crash_note.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace skald {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void fail() { throw std::runtime_error("nobody catches it"); }

class CrashNoteTest : public testing::Test {
 protected:
  CrashNoteTest() { folder_ = mkdtemp(template_); }
  ~CrashNoteTest() override { fs::remove_all(folder_); }

  std::string path() const { return folder_ + "/crash"; }
  // In a process of its own; how it ended.
  template <class Die>
  int dies_in(Die&& die) {
    const pid_t child = fork();
    if (child == 0) {
      CrashNotes notes(path());
      notes.worker_is("w1");
      const CrashNotes::Running outer(&notes, 's', "saga-1");
      { const CrashNotes::Running inner(&notes, 'e', "event-1"); }
      die(notes);
      _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : -WEXITSTATUS(status);
  }
  std::string notes_left() {
    std::string out;
    CrashNotes(path()).take(
        [&](const CrashNotes::Note& note) { out += note.worker + " " + note.kind + " " + note.id + ";"; });
    return out;
  }

  char template_[32] = "/tmp/skald-crash.XXXXXX";
  std::string folder_;
};

TEST_F(CrashNoteTest, NamesWhatTheThreadRanThatDied) {
  EXPECT_NE(dies_in([](CrashNotes&) { std::abort(); }), 0);
  EXPECT_EQ(notes_left(), "w1 s saga-1;");
  EXPECT_EQ(notes_left(), "") << "taken once";
}

TEST_F(CrashNoteTest, KnowsAFaultAnUncaughtExceptionAndAnotherThread) {
  EXPECT_NE(dies_in([](CrashNotes&) { raise(SIGSEGV); }), 0);
  EXPECT_EQ(notes_left(), "w1 s saga-1;");
  EXPECT_NE(dies_in([](CrashNotes&) noexcept { fail(); }), 0);
  EXPECT_EQ(notes_left(), "w1 s saga-1;");
  EXPECT_NE(dies_in([](CrashNotes& notes) {
              std::thread([&] {
                const CrashNotes::Running running(&notes, 'e', "event-2");
                std::abort();
              }).join();
            }),
            0);
  EXPECT_EQ(notes_left(), "w1 e event-2;") << "not what the others ran";
}

TEST_F(CrashNoteTest, SaysNothingOfADeathFromOutsideOrOfAPeacefulEnd) {
  EXPECT_EQ(dies_in([](CrashNotes&) { raise(SIGKILL); }), SIGKILL);
  EXPECT_EQ(dies_in([](CrashNotes&) {}), 0);
  EXPECT_EQ(notes_left(), "");
}

TEST_F(CrashNoteTest, WhatIsNoNoteIsPassedOver) {
  std::ofstream(path() + ".1") << "w1 s saga-1\ntorn\nw1 too many words here\n\n";
  EXPECT_EQ(notes_left(), "w1 s saga-1;");
}

TEST_F(CrashNoteTest, WhereANoteCannotBeUsedItStays) {
  std::ofstream(path() + ".1") << "w1 s saga-1\n";
  const CrashNotes notes(path());
  EXPECT_THROW(notes.take([](const CrashNotes::Note&) { throw std::runtime_error("away"); }), std::runtime_error);
  EXPECT_EQ(notes_left(), "w1 s saga-1;");
}

}  // namespace
}  // namespace skald
