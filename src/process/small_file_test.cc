#include "process/small_file.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>

namespace skald::process {
namespace {

class SmallFile : public testing::Test {
 protected:
  SmallFile() {
    char name[] = "/tmp/skald-file-XXXXXX";
    folder_ = mkdtemp(name);
  }
  ~SmallFile() override { std::filesystem::remove_all(folder_); }
  std::string text() const { return read_small_file(folder_ + "/a").value_or("none"); }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(std::filesystem::directory_iterator(folder_), {}));
  }

  std::string folder_;
};

TEST_F(SmallFile, ALaterTextReplacesAnEarlierOne) {
  EXPECT_EQ(text(), "none");
  EXPECT_EQ(write_small_file(folder_, "a", "one", Durable::yes), 0);
  EXPECT_EQ(write_small_file(folder_, "a", "two", Durable::no), 0);
  EXPECT_EQ(text(), "two");
  EXPECT_EQ(files(), 1U);
}

TEST_F(SmallFile, TheFirstTextIsKeptWhereThatIsAskedFor) {
  EXPECT_EQ(write_small_file(folder_, "a", "one", Durable::yes, Existing::kept), 0);
  EXPECT_EQ(write_small_file(folder_, "a", "two", Durable::yes, Existing::kept), 0);
  EXPECT_EQ(text(), "one");
  EXPECT_EQ(files(), 1U);
}

TEST_F(SmallFile, WhatCannotBeWrittenSaysWhyAndLeavesNothing) {
  EXPECT_EQ(write_small_file(folder_ + "/no", "a", "one", Durable::yes), ENOENT);
  std::filesystem::create_directories(folder_ + "/a/b");
  EXPECT_EQ(write_small_file(folder_, "a", "one", Durable::yes), EISDIR);
  EXPECT_EQ(files(), 1U);
}

}  // namespace
}  // namespace skald::process
