#include "interleave/schedule.h"

#include <charconv>

#include "skald/error.h"

namespace skald::test {

std::string to_text(const Choice& choice) { return (choice.stop ? "s" : "") + std::to_string(choice.session); }

std::string to_text(const Schedule& schedule) {
  std::string out;
  for (const Choice& choice : schedule) out += (out.empty() ? "" : ",") + to_text(choice);
  return out;
}

Schedule parse_schedule(std::string_view text) {
  Schedule out;
  for (bool more = !text.empty(); more;) {
    std::string_view word = text.substr(0, text.find(','));
    more = word.size() < text.size();
    text.remove_prefix(std::min(word.size() + 1, text.size()));
    Choice choice;
    choice.stop = word.starts_with('s');
    if (choice.stop) word.remove_prefix(1);
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), choice.session);
    if (error != std::errc() || end != word.data() + word.size() || choice.session < 0)
      throw Invalid("BAD_SCHEDULE", "a schedule is a list like 0,1,1,s0: session numbers, with s where one is stopped");
    out.push_back(choice);
  }
  return out;
}

}  // namespace skald::test
