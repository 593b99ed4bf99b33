#include "process/pipe_reader.h"

#include <fcntl.h>
#include <gtest/gtest.h>

#include "process/small_file.h"

namespace skald::process {
namespace {

TEST(PipeReaderTest, TheRestIsReadToItsLastByteAlthoughAWriterKeepsThePipeOpen) {
  Pipe pipe = make_pipe();
  fcntl(pipe.in.get(), F_SETPIPE_SZ, 1 << 19);
  const std::string much(300'000, 'x');
  ASSERT_EQ(write_all(pipe.in.get(), much), much.size());
  std::string taken;
  PipeReader reader(std::move(pipe.out), [&](std::string_view bytes) { taken += bytes; });
  reader.read_rest();
  EXPECT_EQ(taken.size(), much.size());
  EXPECT_GE(reader.descriptor(), 0);
  pipe.in.close();
  reader.read_some();
  EXPECT_EQ(reader.descriptor(), -1);
}

TEST(PipeReaderTest, WhatIsWrittenWhileTheRestIsReadIsNotWaitedFor) {
  Pipe pipe = make_pipe();
  ASSERT_EQ(write_all(pipe.in.get(), "first"), 5U);
  std::string taken;
  PipeReader reader(std::move(pipe.out), [&](std::string_view bytes) {
    taken += bytes;
    EXPECT_EQ(write_all(pipe.in.get(), "again"), 5U);
  });
  reader.read_rest();
  EXPECT_EQ(taken, "first");
}

}  // namespace
}  // namespace skald::process
