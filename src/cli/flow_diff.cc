#include "cli/flow_diff.h"

#include <boost/json/serialize.hpp>
#include <ostream>

#include "cli/flow_references.h"
#include "cli/output.h"
#include "http/target.h"
#include "skald/json.h"

namespace skald::cli {
namespace {

constexpr const char *kRed = "\033[31m", *kGreen = "\033[32m", *kCyan = "\033[36m", *kBold = "\033[1m",
                     *kPlain = "\033[0m";

const char* colour_of(std::string_view line) {
  if (line.starts_with("+++") || line.starts_with("---") || line.starts_with("diff ")) return kBold;
  if (line.starts_with("@@")) return kCyan;
  if (line.starts_with('+')) return kGreen;
  return line.starts_with('-') ? kRed : "";
}

// What an agent wrote must not steer the terminal: the colours alone are ours.
void print_text(std::string_view text, bool colours, std::ostream& out) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    const std::string colour = colours ? colour_of(line) : "";
    out << colour << printable(line, "\t") << (colour.empty() ? "" : kPlain) << '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

std::string counted_lines(const JsonView& file) {
  return file["binary"] == "true" ? "binary" : "+" + file["linesAdded"] + " -" + file["linesDeleted"];
}

}  // namespace

std::string diff_of(const Arguments& arguments, const Api& api) {
  auto query = given(arguments, {"work"});
  if (arguments.flags.contains("git")) query["git"] = id_of(api, kGits, arguments.flag("git"));
  boost::json::value page = json::parse(
      ask(api, "GET", "/agentflow/workflows/" + http::encode_segment(arguments.operands[0]) + "/diff", query));
  for (boost::json::value& one : page.as_object().at("items").as_array()) {
    const std::string id(one.as_object().at("gitId").as_string());
    one.as_object()["name"] = JsonView(ask(api, "GET", kGits.path + "/" + http::encode_segment(id)))["name"];
  }
  return boost::json::serialize(page);
}

void print_diff(const JsonView& page, const DiffStyle& style, std::ostream& out) {
  bool first = true;
  for (const JsonView& git : page.items()) {
    const auto files = git.items("files");
    out << (first ? "" : "\n") << printable(git["name"]) << ": " << files.size()
        << (files.size() == 1 ? " file" : " files") << " changed\n";
    first = false;
    std::vector<std::vector<std::string>> rows;
    for (const JsonView& file : files)
      rows.push_back({file["kind"], counted_lines(file),
                      (file["oldPath"].empty() ? "" : file["oldPath"] + " -> ") + file["path"]});
    if (!rows.empty()) print_table(out, {"CHANGE", "LINES", "FILE"}, rows, Long::wrap);
    if (style.files_only || git["text"].empty()) continue;
    out << '\n';
    print_text(git["text"], style.colours, out);
    if (git["truncated"] == "true") out << "the text is cut here: name one repository with --git, or one work\n";
  }
}

}  // namespace skald::cli
