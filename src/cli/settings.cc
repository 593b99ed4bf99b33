#include "cli/settings.h"

#include <algorithm>
#include <charconv>

#include "base/text.h"

namespace skald::cli {
namespace {

std::optional<std::int64_t> parse_integer(std::string_view text) {
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::optional<double> parse_fraction(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= 0 && value <= 1)) return std::nullopt;
  return value;
}

std::optional<bool> parse_boolean(std::string_view text) {
  for (const std::string_view yes : {"true", "1", "yes", "on"})
    if (text == yes) return true;
  for (const std::string_view no : {"false", "0", "no", "off"})
    if (text == no) return false;
  return std::nullopt;
}

bool is_choice(std::string_view choices, std::string_view text) {
  while (true) {
    const std::size_t bar = std::min(choices.find('|'), choices.size());
    if (choices.substr(0, bar) == text) return true;
    if (bar == choices.size()) return false;
    choices.remove_prefix(bar + 1);
  }
}

bool within(std::int64_t value, const Setting& setting) { return value >= setting.low && value <= setting.high; }

bool is_duration(const Setting& setting, std::string_view text) {
  const auto value = parse_duration(text);
  return value && *value >= std::chrono::seconds(setting.low) && *value <= std::chrono::seconds(setting.high);
}

constexpr std::string_view kNever = "never";

// Separated by commas.
std::vector<std::string> words_of(std::string_view rest) {
  std::vector<std::string> out;
  while (!rest.empty()) {
    const std::size_t comma = std::min(rest.find(','), rest.size());
    std::string_view word = rest.substr(0, comma);
    rest.remove_prefix(std::min(rest.size(), comma + 1));
    word.remove_prefix(std::min(word.find_first_not_of(' '), word.size()));
    word = word.substr(0, word.find_last_not_of(' ') + 1);
    if (!word.empty()) out.emplace_back(word);
  }
  return out;
}

bool fits(const Setting& setting, std::string_view text) {
  switch (setting.kind) {
    case Kind::integer: {
      const auto value = parse_integer(text);
      return value && within(*value, setting);
    }
    case Kind::fraction: return parse_fraction(text).has_value();
    case Kind::boolean: return parse_boolean(text).has_value();
    case Kind::choice: return is_choice(setting.choices, text);
    case Kind::duration: return is_duration(setting, text);
    case Kind::durations: {
      const auto words = words_of(text);
      return text == kNever || (!words.empty() && std::ranges::all_of(words, [&](const std::string& word) {
               return is_duration(setting, word);
             }));
    }
    case Kind::secret:
      if (text.empty()) return true;
      [[fallthrough]];
    default:
      return within(static_cast<std::int64_t>(text.size()), setting) && is_utf8(text) && text.find('\0') == text.npos;
  }
}

// How the value was given, so that whoever gave it finds it again.
std::string place(const Setting& setting, std::string_view origin) {
  if (origin == "environment") return environment_name(setting);
  if (origin == "flag") return "--" + flag_name(setting);
  return std::string(setting.path);
}

}  // namespace

std::optional<Duration> parse_duration(std::string_view text) {
  const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
  const auto number = parse_integer(text.substr(0, digits));
  if (!number || *number > 1'000'000'000) return std::nullopt;
  const std::string_view unit = text.substr(digits);
  if (unit == "ms") return std::chrono::milliseconds(*number);
  if (unit == "s") return std::chrono::seconds(*number);
  if (unit == "m") return std::chrono::minutes(*number);
  if (unit == "h") return std::chrono::hours(*number);
  if (unit == "d") return std::chrono::hours(24 * *number);
  return std::nullopt;
}

std::string shown_url(std::string_view url) {
  const std::size_t scheme = url.find("://");
  if (scheme == url.npos) return std::string(url);
  std::string_view rest = url.substr(scheme + 3);
  const std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  const std::string_view host = authority.substr(authority.rfind('@') == authority.npos ? 0 : authority.rfind('@') + 1);
  std::string out = std::string(url.substr(0, scheme + 3)) + std::string(host);
  // The name of a database tells installations apart; a webhook's path is often its password.
  if (url.starts_with("postgres")) {
    rest.remove_prefix(authority.size());
    out += rest.substr(0, rest.find_first_of("?#"));
  }
  return out;
}

Settings::Settings(const Values& file, const Values& environment, const Values& flags) {
  const std::pair<const Values*, std::string_view> sources[] = {
      {&file, "file"}, {&environment, "environment"}, {&flags, "flag"}};
  for (const Setting& setting : known_settings()) {
    Value value{std::string(setting.standard), "standard"};
    for (const auto& [values, origin] : sources)
      if (const auto found = values->find(setting.path); found != values->end()) value = {found->second, origin};
    if (!fits(setting, value.text)) {
      const bool may_show = setting.kind != Kind::secret && setting.kind != Kind::url;
      throw Invalid("BAD_SETTING", place(setting, value.origin) +
                                       (may_show ? " is '" + cut_text(value.text, 100) + "' and" : "") + " must be " +
                                       allowed_values(setting));
    }
    values_.emplace(setting.path, std::move(value));
  }
}

// A path that is not in the table is a bug: at() stops the command with it.
const Settings::Value& Settings::at(std::string_view path) const {
  const auto found = values_.find(path);
  if (found == values_.end())
    throw Corrupt("UNKNOWN_SETTING", "the program asks for a setting that is not in its table: " + std::string(path));
  return found->second;
}

const std::string& Settings::text(std::string_view path) const { return at(path).text; }
std::int64_t Settings::integer(std::string_view path) const { return *parse_integer(at(path).text); }
double Settings::fraction(std::string_view path) const { return *parse_fraction(at(path).text); }
bool Settings::enabled(std::string_view path) const { return *parse_boolean(at(path).text); }
Duration Settings::duration(std::string_view path) const { return *parse_duration(at(path).text); }
std::string_view Settings::origin(std::string_view path) const { return at(path).origin; }

std::vector<std::string> Settings::list(std::string_view path) const { return words_of(at(path).text); }

std::vector<Duration> Settings::durations(std::string_view path) const {
  std::vector<Duration> out;
  if (at(path).text == kNever) return out;
  for (const std::string& word : list(path)) out.push_back(*parse_duration(word));
  return out;
}

std::string Settings::shown(std::string_view path) const {
  const Setting& setting = *find_setting(path);
  const std::string& value = text(path);
  if (value.empty()) return "";
  if (setting.kind == Kind::secret) return "(set)";
  return setting.kind == Kind::url ? shown_url(value) : value;
}

}  // namespace skald::cli
