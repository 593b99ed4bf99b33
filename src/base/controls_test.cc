#include "skald/controls.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

TEST(Controls, EveryKindIsFoundAndEscaped) {
  const std::pair<std::string, std::string> all[] = {{std::string("\0", 1), "\\u0000"},
                                                     {"\x1b", "\\u001b"},
                                                     {"\n", "\\u000a"},
                                                     {"\x7f", "\\u007f"},
                                                     {"\u0080", "\\u0080"},
                                                     {"\u009b", "\\u009b"},
                                                     {"\u009f", "\\u009f"},
                                                     {"\u061c", "\\u061c"},
                                                     {"\u200e", "\\u200e"},
                                                     {"\u200f", "\\u200f"},
                                                     {"\u2028", "\\u2028"},
                                                     {"\u2029", "\\u2029"},
                                                     {"\u202a", "\\u202a"},
                                                     {"\u202e", "\\u202e"},
                                                     {"\u2066", "\\u2066"},
                                                     {"\u2069", "\\u2069"}};
  for (const auto& [raw, escaped] : all) {
    EXPECT_TRUE(has_controls("a" + raw + "b")) << escaped;
    EXPECT_EQ(escape_controls("a" + raw + "b"), "a" + escaped + "b");
  }
}

TEST(Controls, NamesOfAllLanguagesHaveNone) {
  for (const std::string name : {"Kim", "김민준", "Zoë\u00a0Ørsted", "محمد", "נועה", "👩\u200d🚀", "نمی\u200cخواهم",
                                 "a\u2027b", "c\u202fd", "\u2065\u206a"}) {
    EXPECT_FALSE(has_controls(name)) << name;
    EXPECT_EQ(escape_controls(name), name);
  }
}

TEST(Controls, WhatIsAllowedStays) {
  EXPECT_FALSE(has_controls("a\r\n\tb", kLineBreaks));
  EXPECT_TRUE(has_controls("a\n\x1b[2J", kLineBreaks));
  EXPECT_EQ(escape_controls("a\n\x1b[2J", kLineBreaks), "a\n\\u001b[2J");
}

TEST(Controls, BytesThatAreNoTextAreLeftAlone) {
  EXPECT_FALSE(has_controls("\xc2"));
  EXPECT_FALSE(has_controls("\xe2\x80"));
  EXPECT_EQ(escape_controls("\xff\xe2\x80"), "\xff\xe2\x80");
}

}  // namespace
}  // namespace skald
