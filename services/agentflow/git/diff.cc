#include "agentflow/git/diff.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "skald/error.h"
#include "skald/text.h"

namespace agentflow {
namespace {

constexpr std::size_t kTextMax = 16 << 20;
constexpr std::size_t kPathShownMax = 4096;

// Fields that each end with a NUL.
class NulFields {
 public:
  explicit NulFields(std::string_view text) : rest_(text) {}
  bool done() const { return rest_.empty(); }
  std::string_view peek() const { return rest_.substr(0, rest_.find('\0')); }
  std::string_view take() {
    const std::string_view field = peek();
    rest_.remove_prefix(std::min(rest_.size(), field.size() + 1));
    return field;
  }

 private:
  std::string_view rest_;
};

std::string kind_of(char letter) {
  switch (letter) {
    case 'A': return "added";
    case 'D': return "deleted";
    case 'R': return "renamed";
    case 'T': return "type";
    default: return "modified";
  }
}

// Paths are bytes to git; what is no UTF-8 is shown with '?'.
std::string shown_path(std::string_view path) { return skald::cut_text(path, kPathShownMax); }

// ":100644 100644 {id} {id} M" path, and a second path for a rename.
FileChange take_raw(NulFields& fields) {
  const std::string_view head = fields.take();
  const std::size_t letter = head.rfind(' ') + 1;
  FileChange change{.path = "", .kind = kind_of(letter < head.size() ? head[letter] : 'M'), .old_path = {}};
  const std::string_view first = fields.take();
  if (change.kind == "renamed") {
    change.old_path = shown_path(first);
    change.path = shown_path(fields.take());
  } else {
    change.path = shown_path(first);
  }
  return change;
}

std::int64_t count_of(std::string_view text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

// "added<TAB>deleted<TAB>path", or for a rename an empty path and then both. In the order of the files.
void take_counts(NulFields& fields, FileChange& change) {
  std::string_view field = fields.take();
  const std::size_t first = field.find('\t'), second = field.find('\t', first + 1);
  if (first == field.npos || second == field.npos) return;
  change.binary = field.front() == '-';
  change.lines_added = count_of(field.substr(0, first));
  change.lines_deleted = count_of(field.substr(first + 1, second - first - 1));
  if (second + 1 == field.size()) {
    fields.take();
    fields.take();
  }
}

}  // namespace

Diff git_diff(const GitProgram& git, const GitPlace& place, const std::string& from, const std::string& to,
              std::size_t text_max) {
  const auto words = [&](GitWords asked) {
    asked.insert(asked.begin(), {"diff-tree", "-r", "-M", "--no-color", "--no-ext-diff", "--no-textconv"});
    asked.insert(asked.end(), {"--end-of-options", from, to, "--"});
    return asked;
  };
  Diff diff;
  const std::string listed = git.ask(place, words({"--raw", "--numstat", "-z"}));
  NulFields fields(listed);
  while (!fields.done() && fields.peek().starts_with(':')) diff.files.push_back(take_raw(fields));
  for (FileChange& change : diff.files) take_counts(fields, change);
  text_max = std::min(text_max, kTextMax);
  if (diff.files.empty()) return diff;
  const auto text = git.run(place, words({"-p"}), {.output_max = std::max<std::size_t>(text_max, 1)});
  if (!text.ok()) throw_git_failed("diff-tree", text);
  diff.text = skald::cut_text(text.out, text_max);
  diff.truncated = text.truncated || text.out.size() > text_max;
  return diff;
}

}  // namespace agentflow
