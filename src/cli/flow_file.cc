#include "cli/flow_file.h"

#include <toml++/toml.h>

#include <algorithm>
#include <boost/json/parser.hpp>
#include <cmath>

#include "cli/named_file.h"
#include "skald/json.h"
#include "skald/text.h"

namespace skald::cli {
namespace {

constexpr const char* kBadFile = "BAD_WORKFLOW_FILE";
constexpr std::size_t kWorkflowBytesMax = 16 << 20;
constexpr std::size_t kWorkflowValuesMax = 20'000;  // as many as the server takes

[[noreturn]] void refuse_file(const std::string& place, const std::string& why) {
  throw Invalid(kBadFile, place + ": " + why);
}

std::string at_line(const std::string& name, std::size_t line) { return name + ":" + std::to_string(line); }

// The same value in JSON, which has no dates and no infinite numbers. Remembers where each stood.
class TomlReader {
 public:
  explicit TomlReader(WorkflowFile& file) : file_(file) {}

  boost::json::object read(const toml::table& table, const std::string& pointer) {
    boost::json::object out;
    for (const auto& [key, node] : table) out.emplace(key.str(), read_value(node, json::child(pointer, key.str())));
    return out;
  }

 private:
  boost::json::value read_value(const toml::node& node, const std::string& pointer) {
    const std::size_t line = node.source().begin.line;
    if (++values_ > kWorkflowValuesMax)
      refuse_file(at_line(file_.name, line),
                  "a workflow has at most " + std::to_string(kWorkflowValuesMax) + " values");
    file_.lines.emplace(pointer, line);
    if (const auto* table = node.as_table()) return read(*table, pointer);
    if (const auto* array = node.as_array()) {
      boost::json::array out;
      for (const toml::node& element : *array)
        out.push_back(read_value(element, pointer + "/" + std::to_string(out.size())));
      return out;
    }
    if (const auto text = node.value_exact<std::string>()) return boost::json::value(*text);
    if (const auto truth = node.value_exact<bool>()) return boost::json::value(*truth);
    if (const auto number = node.value_exact<std::int64_t>()) return boost::json::value(*number);
    if (const auto number = node.value_exact<double>(); number && std::isfinite(*number))
      return boost::json::value(*number);
    refuse_file(at_line(file_.name, line),
                "at " + pointer + ": expected a text, a number, true or false; write a date as a text");
  }

  WorkflowFile& file_;
  std::size_t values_ = 0;
};

void parse_toml(std::string_view text, WorkflowFile& file) {
  try {
    file.body = TomlReader(file).read(toml::parse(text), "");
  } catch (const toml::parse_error& error) {
    refuse_file(at_line(file.name, error.source().begin.line),
                "this is not TOML: " + cut_text(error.description(), 500));
  }
}

// Where the text stops being JSON; 0 where it is something else that is wrong with it.
std::size_t broken_line(std::string_view text) {
  boost::json::parser parser;
  boost::system::error_code error;
  const std::size_t read = parser.write_some(text.data(), text.size(), error);
  if (!error && read == text.size()) return 0;
  return 1 + static_cast<std::size_t>(std::ranges::count(text.substr(0, read), '\n'));
}

void parse_json(std::string_view text, WorkflowFile& file) {
  boost::json::value value;
  try {
    value = json::parse(text, kWorkflowValuesMax);
  } catch (const Invalid& error) {
    const std::size_t line = broken_line(text);
    refuse_file(line == 0 ? file.name : at_line(file.name, line), error.what());
  }
  if (!value.is_object()) refuse_file(file.name, "a workflow is an object: begin it with {");
  file.body = std::move(value.get_object());
}

}  // namespace

std::string WorkflowFile::place(std::string_view pointer) const {
  for (; pointer.starts_with('/'); pointer = pointer.substr(0, pointer.rfind('/')))
    if (const auto found = lines.find(pointer); found != lines.end()) return at_line(name, found->second);
  return name;
}

WorkflowFile parse_workflow(std::string_view text, const std::string& name) {
  WorkflowFile out{name, {}, {}};
  if (name.ends_with(".toml")) parse_toml(text, out);
  else if (name.ends_with(".json")) parse_json(text, out);
  else refuse_file(name, "a workflow file is TOML or JSON by its ending: name it .toml or .json");
  return out;
}

WorkflowFile read_workflow(const std::string& path) {
  return parse_workflow(read_named_file(path, kWorkflowBytesMax, kBadFile, "name a workflow file in TOML or JSON"),
                        path);
}

}  // namespace skald::cli
