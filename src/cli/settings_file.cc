// Settings out of TOML and out of the environment.
#include <toml++/toml.h>

#include <iomanip>
#include <sstream>

#include "base/text.h"
#include "cli/nearest.h"
#include "cli/settings.h"

namespace skald::cli {
namespace {

constexpr std::size_t kFileBytesMax = 1 << 20;

[[noreturn]] void refuse(std::string_view file, const toml::source_region& where, const std::string& why) {
  throw Invalid("BAD_SETTING", std::string(file) + ":" + std::to_string(where.begin.line) + ": " + why);
}

std::vector<std::string> paths() {
  std::vector<std::string> out;
  for (const Setting& setting : known_settings()) out.emplace_back(setting.path);
  return out;
}

bool is_table_of_settings(std::string_view path) {
  for (const Setting& setting : known_settings())
    if (setting.path.starts_with(std::string(path) + ".")) return true;
  return false;
}

// Spelled as the environment would, or nothing where the type does not fit.
std::optional<std::string> spelled(const toml::node& node, Kind kind) {
  if (kind == Kind::integer) {
    const auto number = node.value_exact<std::int64_t>();
    return number ? std::optional(std::to_string(*number)) : std::nullopt;
  }
  if (kind == Kind::fraction && node.is_number()) {
    std::ostringstream out;  // never as 1e-05, which the environment would not take either
    out << std::fixed << std::setprecision(9) << node.value<double>().value_or(-1);
    return out.str();
  }
  if (kind == Kind::boolean) {
    const auto truth = node.value_exact<bool>();
    return truth ? std::optional<std::string>(*truth ? "true" : "false") : std::nullopt;
  }
  if ((kind == Kind::list || kind == Kind::durations) && node.is_array()) {
    std::string out;
    for (const toml::node& element : *node.as_array()) {
      const auto text = element.value_exact<std::string>();
      if (!text || text->find(',') != std::string::npos) return std::nullopt;
      if (!out.empty()) out += ',';
      out += *text;
    }
    return out;
  }
  return node.value_exact<std::string>();
}

void collect(const toml::table& table, const std::string& prefix, std::string_view file, Values& out) {
  for (const auto& [key, node] : table) {
    const std::string path = prefix + std::string(key.str());
    if (const Setting* setting = find_setting(path)) {
      const auto value = spelled(node, setting->kind);
      if (!value) refuse(file, node.source(), path + " must be " + allowed_values(*setting));
      out[path] = *value;
    } else if (node.is_table() && is_table_of_settings(path)) {
      collect(*node.as_table(), path + ".", file, out);
    } else {
      refuse(file, node.source(), "there is no setting " + cut_text(path, 200) + did_you_mean(path, paths()));
    }
  }
}

}  // namespace

Values read_settings_file(std::string_view text, std::string_view name) {
  if (text.size() > kFileBytesMax)
    throw Invalid("BAD_SETTING", std::string(name) + " is larger than 1 MB; is it the right file?");
  Values out;
  try {
    collect(toml::parse(text), "", name, out);
  } catch (const toml::parse_error& error) {
    refuse(name, error.source(), "this is not TOML: " + cut_text(error.description(), 500));
  }
  return out;
}

Values settings_from_environment(const std::map<std::string, std::string>& environment,
                                 std::vector<std::string>& unknown) {
  std::map<std::string, const Setting*> names;
  std::vector<std::string> candidates;
  for (const Setting& setting : known_settings()) {
    names[environment_name(setting)] = &setting;
    candidates.push_back(environment_name(setting));
  }
  Values out;
  for (const auto& [name, value] : environment) {
    if (!name.starts_with("SKALD_") || name == "SKALD_CONFIG" || value.empty()) continue;
    const auto found = names.find(name);
    if (found != names.end()) out[std::string(found->second->path)] = value;
    else unknown.push_back(cut_text(name, 100) + " is no setting" + did_you_mean(name, candidates));
  }
  return out;
}

}  // namespace skald::cli
