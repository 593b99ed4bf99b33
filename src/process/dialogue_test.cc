#include <gtest/gtest.h>
#include <signal.h>

#include "process/process_table.h"
#include "skald/process.h"

namespace skald {
namespace {

class Talk : public testing::Test {
 protected:
  Command script(const std::string& text) const { return {.argv = {"sh", "-c", text}, .output_max = 1000}; }
  Instant in(Duration time) const { return clock_->steady() + time; }
  static bool lives(const std::string& pid) {
    const auto row = process::process_row(std::stoi(pid));
    return row && !row->dead();
  }

  std::unique_ptr<Clock> clock_ = system_clock();
};

TEST_F(Talk, LinesGoThereAndBack) {
  Dialogue cat(*clock_, {.argv = {"cat"}});
  EXPECT_TRUE(cat.send("one", in(10s)));
  EXPECT_TRUE(cat.send("two\nthree", in(10s)));
  EXPECT_EQ(cat.receive_line(in(10s)), "one");
  EXPECT_EQ(cat.receive_line(in(10s)), "two");
  EXPECT_EQ(cat.receive_line(in(10s)), "three");
  EXPECT_FALSE(cat.has_ended());
  EXPECT_TRUE(cat.end(10s).ok());
}

TEST_F(Talk, TheCommandsInputIsSentFirst) {
  Dialogue cat(*clock_, {.argv = {"cat"}, .input = "first\n"});
  EXPECT_TRUE(cat.send("second", in(10s)));
  EXPECT_EQ(cat.receive_line(in(10s)), "first");
  EXPECT_EQ(cat.receive_line(in(10s)), "second");
}

TEST_F(Talk, SilenceIsNothingAtTheDeadline) {
  Dialogue silent(*clock_, script("sleep 1000"));
  EXPECT_EQ(silent.receive_line(in(50ms)), std::nullopt);
  EXPECT_FALSE(silent.has_ended());
}

TEST_F(Talk, WhatWasSaidBeforeTheEndIsHeardToItsLastByte) {
  Dialogue brief(*clock_, script("echo whole; printf rest; exit 3"));
  EXPECT_EQ(brief.receive_line(in(10s)), "whole");
  EXPECT_EQ(brief.receive_line(in(10s)), "rest");
  EXPECT_EQ(brief.receive_line(in(10s)), std::nullopt);
  EXPECT_TRUE(brief.has_ended());
  EXPECT_EQ(brief.end(10s).exit_code, 3);
}

TEST_F(Talk, WhoHasLeftTheGroupAndHoldsTheOutputDoesNotHoldUs) {
  Dialogue parent(*clock_, script("setsid -f sh -c 'echo $$; exec sleep 1000'; read -r told"));
  const auto pid = parent.receive_line(in(10s));
  ASSERT_TRUE(pid);
  EXPECT_TRUE(parent.send("told", in(10s)));
  const Instant begin = clock_->steady();
  EXPECT_EQ(parent.receive_line(in(60s)), std::nullopt);
  EXPECT_TRUE(parent.has_ended());
  EXPECT_LT(clock_->steady() - begin, 30s);
  EXPECT_EQ(kill(std::stoi(*pid), SIGKILL), 0);
}

TEST_F(Talk, WhoDoesNotReadIsNotWaitedForAfterTheDeadline) {
  Dialogue deaf(*clock_, script("sleep 1000"));
  EXPECT_FALSE(deaf.send(std::string(1 << 20, 'x'), in(50ms)));
}

TEST_F(Talk, WhoHasEndedIsNotSentTo) {
  Dialogue gone(*clock_, script("exec <&-; echo closed; sleep 1000"));
  EXPECT_EQ(gone.receive_line(in(10s)), "closed");
  EXPECT_FALSE(gone.send("x", in(10s)));
  Dialogue dead(*clock_, script("exit 0"));
  EXPECT_EQ(dead.receive_line(in(10s)), std::nullopt);
  const Instant latest = in(10s);
  while (dead.send("x", latest)) ASSERT_LT(clock_->steady(), latest) << "its input may be closed after its output";
}

TEST_F(Talk, BothMayTalkMuchAtOnce) {
  const std::string much(1 << 20, 'x');
  Dialogue cat(*clock_, {.argv = {"cat"}, .output_max = 2 << 20});
  EXPECT_TRUE(cat.send(much, in(30s)));
  EXPECT_EQ(cat.receive_line(in(30s)), much);
}

TEST_F(Talk, WhatIsNotHeardYetIsNotKeptWithoutBound) {
  Dialogue loud(*clock_, script("yes | head -c 50000000; echo the end >&2; sleep 1000"));
  EXPECT_FALSE(loud.send(std::string(1 << 20, 'x'), in(500ms)));
  EXPECT_EQ(loud.end(0s).err, "");
}

TEST_F(Talk, ALineWithoutEndIsRefused) {
  Dialogue endless(*clock_, {.argv = {"cat", "/dev/zero"}, .output_max = 1000});
  try {
    endless.receive_line(in(30s));
    FAIL();
  } catch (const Refused& error) {
    EXPECT_EQ(error.code(), "LINE_TOO_LONG");
  }
}

TEST_F(Talk, ALineOfTheBoundIsTakenAndOneMoreByteIsNot) {
  Dialogue exact(*clock_, script("printf '%01000d\\n' 0; printf '%01001d\\n' 0"));
  EXPECT_EQ(exact.receive_line(in(10s)), std::string(1000, '0'));
  EXPECT_THROW(exact.receive_line(in(10s)), Refused);
}

TEST_F(Talk, ComplaintsAreKeptFromTheirEnd) {
  Dialogue loud(*clock_, script("head -c 100000 /dev/zero | tr '\\0' x >&2; echo the end >&2"));
  EXPECT_EQ(loud.receive_line(in(10s)), std::nullopt);
  const std::string& err = loud.end(10s).err;
  EXPECT_EQ(err.size(), 1000U);
  EXPECT_TRUE(err.ends_with("xxthe end\n")) << err;
}

TEST_F(Talk, WhoEndsWithItsInputIsNotKilled) {
  Dialogue polite(*clock_, script("cat; echo bye >&2; exit 4"));
  const CommandResult& end = polite.end(20s);
  EXPECT_EQ(end.exit_code, 4);
  EXPECT_EQ(end.err, "bye\n");
  EXPECT_FALSE(end.timed_out);
}

TEST_F(Talk, WhoIgnoresTheEndOfItsInputIsTold) {
  Dialogue told(*clock_, script("trap 'exit 7' TERM; echo ready; while :; do sleep 0.01; done"));
  EXPECT_EQ(told.receive_line(in(10s)), "ready");
  EXPECT_EQ(told.end(2s).exit_code, 7);
}

TEST_F(Talk, WhoIgnoresEverythingIsKilledWithItsGroup) {
  Dialogue stubborn(*clock_, script("trap '' TERM; sleep 1000 & echo $!; while :; do sleep 1; done"));
  const auto pid = stubborn.receive_line(in(10s));
  ASSERT_TRUE(pid);
  const CommandResult& end = stubborn.end(100ms);
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_TRUE(end.timed_out);
  EXPECT_FALSE(lives(*pid));
  EXPECT_EQ(&stubborn.end(10s), &end);
}

TEST_F(Talk, NothingOfItOutlivesTheDialogue) {
  std::optional<std::string> pid;
  {
    Dialogue left(*clock_, script("trap '' TERM; sleep 1000 & echo $!; wait"));
    pid = left.receive_line(in(10s));
  }
  ASSERT_TRUE(pid);
  EXPECT_FALSE(lives(*pid));
}

TEST_F(Talk, WhatCannotBeStartedSaysWhy) {
  try {
    Dialogue none(*clock_, {.argv = {"no-such-program"}});
    FAIL();
  } catch (const Refused& error) {
    EXPECT_EQ(error.code(), "CANNOT_START");
    EXPECT_STREQ(error.what(), "cannot run 'no-such-program': No such file or directory");
  }
  EXPECT_THROW(Dialogue(*clock_, {.argv = {}}), Invalid);
}

}  // namespace
}  // namespace skald
