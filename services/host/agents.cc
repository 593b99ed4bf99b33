#include "host/agents.h"

#include <toml++/toml.h>
#include <unistd.h>

#include "agentflow/question_pattern.h"
#include "cli/named_file.h"

namespace skald::host {
namespace {

constexpr std::size_t kFileMax = 1 << 20;
constexpr std::int64_t kTimeoutMax = 7 * 86'400;

[[noreturn]] void refuse_preset(const std::string& path, const std::string& name, const std::string& what) {
  throw Invalid("BAD_SETTING", path + ": agent " + name + " " + what);
}

std::vector<std::string> words_of(const toml::node_view<const toml::node>& node, const std::string& path,
                                  const std::string& name, const std::string& member) {
  std::vector<std::string> out;
  const toml::array* const words = node.as_array();
  if (words == nullptr) refuse_preset(path, name, "needs " + member + ", a list of texts");
  for (const toml::node& word : *words) {
    if (!word.is_string()) refuse_preset(path, name, "has something in " + member + " that is no text");
    out.push_back(**word.as_string());
  }
  return out;
}

void read_asking(const toml::table& table, const std::string& path, const std::string& name,
                 agentflow::Preset& preset) {
  const auto text_in = [&](const std::string& member) {
    const auto text = table[member].value<std::string>();
    if (table.contains(member) && !text) refuse_preset(path, name, "has a " + member + " that is no text");
    return text;
  };
  if (const auto mode = text_in("on_question")) {
    if (mode != "wait" && mode != "end") refuse_preset(path, name, "has an on_question that is not wait or end");
    preset.on_question = mode == "end" ? agentflow::OnQuestion::end : agentflow::OnQuestion::wait;
  }
  const auto pattern = text_in("question_pattern");
  if (!pattern) return;
  try {
    agentflow::check_question_pattern(*pattern);
  } catch (const Invalid& error) {
    refuse_preset(path, name, "is refused: " + std::string(error.what()));
  }
  preset.question_pattern = *pattern;
}

agentflow::Preset preset_of(const toml::table& table, const std::string& path, const std::string& name) {
  for (const auto& [member, value] : table)
    if (member != "command" && member != "variables" && member != "timeout_seconds" && member != "on_question" &&
        member != "question_pattern")
      refuse_preset(path, name, "has a member that there is not: " + std::string(member.str()));
  agentflow::Preset preset{.argv = words_of(table["command"], path, name, "command")};
  if (preset.argv.empty()) refuse_preset(path, name, "needs a command with at least one word");
  if (table.contains("variables")) preset.variables = words_of(table["variables"], path, name, "variables");
  const auto seconds = table["timeout_seconds"].value_or<std::int64_t>(3'600);
  if (seconds < 1 || seconds > kTimeoutMax) refuse_preset(path, name, "has a timeout_seconds that is not 1 to 604800");
  preset.timeout = std::chrono::seconds(seconds);
  read_asking(table, path, name, preset);
  return preset;
}

}  // namespace

std::map<std::string, agentflow::Preset> agent_presets(const std::string& path) {
  std::map<std::string, agentflow::Preset> out;
  if (path.empty()) return out;
  const std::string text =
      cli::read_named_file(path, kFileMax, "BAD_SETTING", "agentflow.agents names a TOML file of agent presets");
  try {
    for (const auto& [name, node] : toml::parse(text)) {
      if (!node.is_table()) refuse_preset(path, std::string(name.str()), "must be a table");
      out.emplace(name.str(), preset_of(*node.as_table(), path, std::string(name.str())));
    }
  } catch (const toml::parse_error& error) {
    throw Invalid("BAD_SETTING", path + " is no TOML: " + std::string(error.description()) + " in line " +
                                     std::to_string(error.source().begin.line));
  }
  return out;
}

Variables own_variables() {
  Variables out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != text.npos) out.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return out;
}

}  // namespace skald::host
