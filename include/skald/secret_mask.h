// Secrets in what others will read, replaced by ***.
//
//   SecretMask mask({"s3cret-value"});
//   file << mask.pass("the key is s3c");       // "the key is ": the rest may be a beginning
//   file << mask.pass("ret-value, I think");   // "***, I think"
//   file << mask.rest();
//
// | what comes                                  | what goes out                                               |
// | a secret, also in several parts             | ***                                                         |
// | the beginning of one                        | nothing until it is clear what it is                        |
// | the beginning of one, and then the end      | rest() gives it: a part of a secret is not found            |
// | one that is a part of another               | one *** for the longer                                      |
// | one that is written otherwise (base64, …)   | itself: it is not found                                     |
// | one of fewer than 6 bytes                   | itself: it would be found in every other word               |
//
// Thread safety: one thread at a time.
#pragma once

#include <bitset>
#include <string>
#include <string_view>
#include <vector>

namespace skald {

class SecretMask {
 public:
  static constexpr std::size_t kBytesMin = 6;

  explicit SecretMask(std::vector<std::string> secrets);

  std::string pass(std::string_view bytes);
  // What was held back, when nothing more comes.
  std::string rest();

 private:
  enum class More { may_come, never };
  std::string replace(More more);

  std::vector<std::string> secrets_;  // the longest first
  std::bitset<256> begins_;           // with which byte any of them does
  std::string held_;
};

// Of a text that is whole.
std::string masked(const std::vector<std::string>& secrets, std::string_view text);

}  // namespace skald
