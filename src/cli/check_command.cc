// skald check: what the checker finds in a history; fails where it finds anything.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <map>

#include "cli/command.h"
#include "cli/json_view.h"
#include "cli/named_file.h"
#include "cli/output.h"
#include "skald/checker.h"
#include "skald/controls.h"
#include "skald/http.h"

namespace skald::cli {
namespace {

constexpr std::size_t kHistoryBytesMax = std::size_t{4} << 30;

std::string content_of(const std::string& path) {
  const std::string do_this = "name a file of JSON lines, or - for standard input";
  std::string text = path == "-" ? std::string(std::istreambuf_iterator<char>(std::cin), {})
                                 : read_named_file(path, kHistoryBytesMax, "NO_HISTORY", do_this);
  // Nothing to check is not the same as nothing found.
  if (text.find_first_not_of(" \t\r\n") == text.npos)
    throw Invalid("NO_HISTORY", "there is no operation in " + path + "; " + do_this);
  return text;
}

using History = std::vector<checker::Operation>;

// By service: each has an order of commits and rows of its own.
std::map<std::string, History> recorded(const OpenApi& open_api, const Arguments& arguments) {
  const Api api = open_api();
  std::map<std::string, History> out;
  auto query = given(arguments, {"service"});
  query["limit"] = "200";
  do {
    auto page = from_json<Listing<OfService<checker::Operation>>>(ask(api, "GET", "/api/history", query));
    for (auto& operation : page.items) out[operation.service].push_back(std::move(operation));
    query.erase("cursor");
    if (page.next_cursor) query["cursor"] = *page.next_cursor;
  } while (query.contains("cursor"));
  if (out.empty())
    throw NotFound("NO_HISTORY", "nothing has been recorded; set history.record, or name a file of JSON lines");
  return out;
}

// A file is one history, so is what other checkers read.
const History& only(const std::map<std::string, History>& histories) {
  if (histories.size() == 1) return histories.begin()->second;
  std::string names;
  for (const auto& [service, history] : histories) names += (names.empty() ? "" : ", ") + service;
  throw Invalid("USAGE", "each service has a history of its own; choose one with --service: " + names);
}

}  // namespace

int run_check(const Arguments& arguments, const OpenApi& open_api, std::ostream& out) {
  const bool live = arguments.operands.empty();
  std::map<std::string, History> histories;
  if (live) histories = recorded(open_api, arguments);
  else histories[""] = checker::read_history(content_of(arguments.operands[0]));
  if (arguments.flags.contains("lines")) {
    for (const auto& operation : only(histories)) print_json(out, to_json(operation));
    return kDone;
  }
  if (arguments.flags.contains("edn")) {
    out << printable(checker::history_edn(only(histories)), kLineBreaks);
    return kDone;
  }
  checker::Scope scope;  // what is recorded begins somewhere, and sagas go on meanwhile
  scope.from_the_beginning = scope.to_the_end = !live && !arguments.flags.contains("part");
  std::size_t operations = 0;
  std::vector<checker::Finding> findings;
  for (const auto& [service, history] : histories) {
    operations += history.size();
    auto found = checker::check(history, scope);
    std::ranges::move(found, std::back_inserter(findings));
  }
  if (arguments.json()) print_json(out, checker::findings_json(findings));
  else if (findings.empty()) out << operations << " operations, nothing found\n";
  else out << printable(checker::findings_text(findings), kLineBreaks);
  return findings.empty() ? kDone : kFailed;
}

}  // namespace skald::cli
