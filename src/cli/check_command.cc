// skald check: what the checker finds in a recorded history; fails where it finds anything.
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/command.h"
#include "skald/checker.h"

namespace skald::cli {
namespace {

std::string content_of(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw NotFound("NO_HISTORY", "the history " + path + " cannot be read; name a file of JSON lines, or -");
  return text;
}

}  // namespace

int run_check(const Arguments& arguments, std::ostream& out) {
  const auto history = checker::read_history(content_of(arguments.operands[0]));
  checker::Scope scope;
  scope.from_the_beginning = scope.to_the_end = !arguments.flags.contains("part");
  const auto findings = checker::check(history, scope);
  if (arguments.json()) out << checker::findings_json(findings) << '\n';
  else if (findings.empty()) out << history.size() << " operations, nothing found\n";
  else out << checker::findings_text(findings);
  return findings.empty() ? kDone : kFailed;
}

}  // namespace skald::cli
