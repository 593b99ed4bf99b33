// Any bytes into a described struct: a value that survives a round trip, or an
// error of the family.
#include <cstdlib>
#include <map>

#include "skald/json.h"

namespace skald {
namespace {

enum class Colour { red, green };
BOOST_DESCRIBE_ENUM(Colour, red, green)

struct Leaf {
  std::string text;
  std::optional<Colour> colour;
  bool operator==(const Leaf&) const = default;
};
BOOST_DESCRIBE_STRUCT(Leaf, (), (text, colour))

struct Tree {
  std::int64_t number = 0;
  std::int8_t small = 0;
  bool flag = false;
  Time time{};
  std::vector<Leaf> leaves;
  std::map<std::string, Leaf> named;
  bool operator==(const Tree&) const = default;
};
BOOST_DESCRIBE_STRUCT(Tree, (), (number, small, flag, time, leaves, named))

}  // namespace
}  // namespace skald

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  using namespace skald;
  try {
    const Tree tree = from_json<Tree>(std::string_view(reinterpret_cast<const char*>(data), size));
    if (!(from_json<Tree>(to_json(tree)) == tree)) std::abort();
  } catch (const Invalid&) {
    return 0;  // refused with a sentence: that is what it is for
  }
  return 0;
}
