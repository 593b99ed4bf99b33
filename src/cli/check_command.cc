// skald check: what the checker finds in a history; fails where it finds anything.
#include <fstream>
#include <iostream>
#include <iterator>

#include "cli/command.h"
#include "skald/checker.h"
#include "skald/http.h"

namespace skald::cli {
namespace {

std::string content_of(const std::string& path) {
  if (path == "-") return {std::istreambuf_iterator<char>(std::cin), {}};
  std::ifstream file(path, std::ios::binary);
  std::string text(std::istreambuf_iterator<char>(file), {});
  if (!file) throw NotFound("NO_HISTORY", "the history " + path + " cannot be read; name a file of JSON lines, or -");
  return text;
}

std::vector<checker::Operation> recorded(const OpenApi& open_api) {
  const Api api = open_api();
  std::vector<checker::Operation> out;
  std::optional<std::string> cursor;
  do {
    auto page = from_json<Listing<checker::Operation>>(
        ask(api, "GET", "/api/history?limit=200" + (cursor ? "&cursor=" + *cursor : "")));
    out.insert(out.end(), page.items.begin(), page.items.end());
    cursor = page.next_cursor;
  } while (cursor);
  if (out.empty())
    throw NotFound("NO_HISTORY", "nothing has been recorded; set history.record, or name a file of JSON lines");
  return out;
}

}  // namespace

int run_check(const Arguments& arguments, const OpenApi& open_api, std::ostream& out) {
  const bool live = arguments.operands.empty();
  const auto history = live ? recorded(open_api) : checker::read_history(content_of(arguments.operands[0]));
  if (arguments.flags.contains("lines")) {
    for (const auto& operation : history) out << to_json(operation) << '\n';
    return kDone;
  }
  if (arguments.flags.contains("edn")) {
    out << checker::history_edn(history);
    return kDone;
  }
  checker::Scope scope;  // what is recorded begins somewhere, and sagas go on meanwhile
  scope.from_the_beginning = scope.to_the_end = !live && !arguments.flags.contains("part");
  const auto findings = checker::check(history, scope);
  if (arguments.json()) out << checker::findings_json(findings) << '\n';
  else if (findings.empty()) out << history.size() << " operations, nothing found\n";
  else out << checker::findings_text(findings);
  return findings.empty() ? kDone : kFailed;
}

}  // namespace skald::cli
