#include "host/agents.h"

#include <fcntl.h>
#include <toml++/toml.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "agentflow/cost.h"
#include "agentflow/question_pattern.h"
#include "cli/named_file.h"

namespace skald::host {
namespace {

constexpr std::size_t kFileMax = 1 << 20;
constexpr std::int64_t kTimeoutMax = 7 * 86'400;
constexpr std::int64_t kOutputLeast = 4 << 10, kOutputMost = std::int64_t{1} << 40;
constexpr double kCostMost = 1e9;

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

// The members of one preset's table.
class PresetTable {
 public:
  PresetTable(const toml::table& table, std::string path, std::string name)
      : table_(table), path_(std::move(path)), name_(std::move(name)) {}

  agentflow::Preset read() const {
    for (const auto& [member, value] : table_)
      if (std::ranges::find(kMembers, member.str()) == std::end(kMembers))
        refuse("has a member that there is not: " + std::string(member.str()));
    agentflow::Preset preset{.argv = words_of(table_["command"], path_, name_, "command")};
    if (preset.argv.empty()) refuse("needs a command with at least one word");
    if (table_.contains("variables")) preset.variables = words_of(table_["variables"], path_, name_, "variables");
    preset.timeout = std::chrono::seconds(whole("timeout_seconds", 3'600, 1, kTimeoutMax));
    preset.output_max = whole("output_max_bytes", preset.output_max, kOutputLeast, kOutputMost);
    preset.cost_pattern = text("cost_pattern");
    preset.cost_json = text("cost_json");
    preset.cost_max = cost_max(preset);
    read_asking(preset);
    read_sandbox(preset);
    preset.restore_before_retry = truth("restore_before_retry", preset.restore_before_retry);
    return preset;
  }

 private:
  static constexpr std::string_view kMembers[] = {
      "command",      "variables",        "timeout_seconds", "output_max_bytes",
      "cost_pattern", "cost_json",        "cost_max",        "restore_before_retry",
      "on_question",  "question_pattern", "sandbox",         "network",
      "readable"};

  [[noreturn]] void refuse(const std::string& what) const { refuse_preset(path_, name_, what); }

  std::int64_t whole(const std::string& member, std::int64_t standard, std::int64_t low, std::int64_t high) const {
    if (!table_.contains(member)) return standard;
    const auto value = table_[member].value_exact<std::int64_t>();
    if (!value || *value < low || *value > high)
      refuse("has a " + member + " that is not " + std::to_string(low) + " to " + std::to_string(high));
    return *value;
  }

  bool truth(const std::string& member, bool standard) const {
    if (!table_.contains(member)) return standard;
    const auto value = table_[member].value_exact<bool>();
    if (!value) refuse("has a " + member + " that is neither true nor false");
    return *value;
  }

  std::string text(const std::string& member) const {
    if (!table_.contains(member)) return "";
    const auto value = table_[member].value_exact<std::string>();
    if (!value || value->empty()) refuse("has a " + member + " that is no text");
    return *value;
  }

  void read_sandbox(agentflow::Preset& preset) const {
    const std::string mode = table_.contains("sandbox") ? text("sandbox") : "off";
    if (mode != "off" && mode != "wanted" && mode != "required")
      refuse("has a sandbox that is not off, wanted or required");
    if (mode != "off") preset.sandbox = mode == "wanted" ? agentflow::Sandbox::wanted : agentflow::Sandbox::required;
    preset.network = truth("network", true);
    if (table_.contains("readable")) preset.readable = words_of(table_["readable"], path_, name_, "readable");
    for (const std::string& path : preset.readable)
      if (!path.starts_with('/') && !path.starts_with("~/"))
        refuse("has something in readable that begins neither with / nor with ~/");
    if (preset.sandbox == agentflow::Sandbox::off && (!preset.network || !preset.readable.empty()))
      refuse("has network or readable, which are of a sandbox: say sandbox, too");
  }

  void read_asking(agentflow::Preset& preset) const {
    if (const std::string mode = text("on_question"); !mode.empty()) {
      if (mode != "wait" && mode != "end") refuse("has an on_question that is not wait or end");
      preset.on_question = mode == "end" ? agentflow::OnQuestion::end : agentflow::OnQuestion::wait;
    }
    preset.question_pattern = text("question_pattern");
    if (preset.question_pattern.empty()) return;
    try {
      agentflow::check_question_pattern(preset.question_pattern);
    } catch (const Invalid& wrong) {
      refuse("has a question_pattern that is refused: " + std::string(wrong.what()));
    }
  }

  double cost_max(const agentflow::Preset& preset) const {
    const agentflow::CostRule rule{preset.cost_pattern, preset.cost_json};
    try {
      agentflow::check(rule);
    } catch (const Invalid& wrong) {
      refuse(std::string("has a ") + (preset.cost_json.empty() ? "cost_pattern" : "cost_json") + " that " +
             wrong.what());
    }
    if (!table_.contains("cost_max")) return 0;
    const auto value = table_["cost_max"].value<double>();
    if (!value || !(*value > 0 && *value <= kCostMost)) refuse("has a cost_max that is no number from 0 to 1000000000");
    if (rule.empty()) refuse("has a cost_max, which needs cost_pattern or cost_json");
    return *value;
  }

  const toml::table& table_;
  std::string path_, name_;
};

}  // namespace

std::map<std::string, agentflow::Preset> agent_presets(const std::string& path) {
  std::map<std::string, agentflow::Preset> out;
  if (path.empty()) return out;
  const std::string text =
      cli::read_named_file(path, kFileMax, "BAD_SETTING", "agentflow.agents names a TOML file of agent presets");
  try {
    for (const auto& [name, node] : toml::parse(text)) {
      if (!node.is_table()) refuse_preset(path, std::string(name.str()), "must be a table");
      out.emplace(name.str(), PresetTable(*node.as_table(), path, std::string(name.str())).read());
    }
  } catch (const toml::parse_error& error) {
    throw Invalid("BAD_SETTING", path + " is no TOML: " + std::string(error.description()) + " in line " +
                                     std::to_string(error.source().begin.line));
  }
  return out;
}

std::vector<std::string> supervisor_command() {
  const auto beside = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "skald-agent-run";
  const int kept = ::open(beside.c_str(), O_PATH | O_CLOEXEC);  // as long as this process lives
  return {kept < 0 ? "/proc/self/exe" : "/proc/self/fd/" + std::to_string(kept), "agent-run"};
}

std::optional<std::string> sandbox_warning(const Clock& clock,
                                           const std::map<std::string, agentflow::Preset>& presets) {
  std::string names;
  for (const auto& [name, preset] : presets)
    if (preset.sandbox != agentflow::Sandbox::off) names += (names.empty() ? "" : ", ") + name;
  if (names.empty()) return std::nullopt;
  const auto problem = agentflow::sandbox_problem(clock, agentflow::Options{}.bwrap, own_variables());
  if (!problem) return std::nullopt;
  return "agents that are to run in a sandbox (" + names +
         ") have none on this machine: install bubblewrap, and allow user namespaces: " + *problem;
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
