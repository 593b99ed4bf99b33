#include "skald/secret_mask.h"

#include <gtest/gtest.h>

namespace skald {
namespace {

// What goes out of `parts`, one after the other.
std::string passed(const std::vector<std::string>& secrets, const std::vector<std::string>& parts) {
  SecretMask mask(secrets);
  std::string out;
  for (const std::string& part : parts) out += mask.pass(part);
  return out + mask.rest();
}

TEST(SecretMaskTest, ASecretIsFoundWhereverItIsSplit) {
  const std::vector<std::string> secrets = {"sesame-open", "sesame", "samovar"};
  const std::string text = "asesame-open sesame,sesamovar sesame-opal sesame-op";
  const std::string hidden = "a*** ***,se*** ***-opal ***-op";
  EXPECT_EQ(masked(secrets, text), hidden);
  for (std::size_t one = 0; one <= text.size(); ++one)
    for (std::size_t other = one; other <= text.size(); ++other)
      EXPECT_EQ(passed(secrets, {text.substr(0, one), text.substr(one, other - one), text.substr(other)}), hidden)
          << one << " " << other;
}

TEST(SecretMaskTest, ByteForByteItIsTheSame) {
  std::vector<std::string> bytes;
  for (const char c : std::string("xaaaaaaaaaaaay")) bytes.emplace_back(1, c);
  EXPECT_EQ(passed({"aaaaaaa"}, bytes), "x***aaaaay");
}

TEST(SecretMaskTest, OnlyWhatMayBecomeASecretIsHeldBack) {
  SecretMask mask({"sesame"});
  EXPECT_EQ(mask.pass("yes"), "ye");
  EXPECT_EQ(mask.pass(" no"), "s no");
  EXPECT_EQ(mask.pass("sesam"), "");
  EXPECT_EQ(mask.rest(), "sesam");
  EXPECT_EQ(mask.rest(), "");
}

TEST(SecretMaskTest, AnyBytesAreASecretAndShortOnesAreNone) {
  const std::string bytes("\0\xff\n\0\x80k", 6);
  EXPECT_EQ(masked({bytes}, "a" + bytes + "b"), "a***b");
  EXPECT_EQ(masked({"12345", "", "a"}, "a 12345"), "a 12345");
  EXPECT_EQ(masked({}, "text"), "text");
}

TEST(SecretMaskTest, ASecretThatIsThreeStarsTwiceDoesNotGoOnForEver) {
  EXPECT_EQ(masked({"******"}, "*******"), "****");
}

}  // namespace
}  // namespace skald
