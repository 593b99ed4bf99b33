// The program's settings. One table says what there is; the names in the file, in
// the environment and on the command line, the help, and the checks all come from
// it. Weakest first: the table's own value, the TOML file, SKALD_ variables, flags.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "skald/error.h"
#include "skald/time.h"

namespace skald::cli {

// What is shorter can be guessed by whoever sees what it signs.
inline constexpr std::int64_t kSecretBytesMin = 16;

enum class Kind { text, secret, url, integer, fraction, boolean, choice, list, duration, durations };

struct Setting {
  std::string_view path;       // "donation.webhook"
  Kind kind;
  std::string_view standard;   // what it is when nobody says; as the environment would spell it
  std::string_view help;
  std::int64_t low = 0;        // integer: the value; duration: seconds; others: bytes (secrets: or none)
  std::int64_t high = 4096;
  std::string_view choices = {};  // "debug|info"
};

std::span<const Setting> known_settings();
const Setting* find_setting(std::string_view path);
std::string environment_name(const Setting& setting);  // SKALD_DONATION_WEBHOOK
// "donation-webhook"; empty for secrets, which everybody could read off the process list.
std::string flag_name(const Setting& setting);
// "from 1 to 512", for help and errors.
std::string allowed_values(const Setting& setting);

// By path, spelled as in the environment.
using Values = std::map<std::string, std::string, std::less<>>;

// Reads a TOML file's text; `name` is for errors. Any text at all is safe to
// pass. Invalid (BAD_SETTING): no TOML, a setting that does not exist (the
// nearest one is named), a value of the wrong type.
Values read_settings_file(std::string_view toml, std::string_view name);

// Settings among SKALD_ variables; empty ones count as absent. Those that are no
// setting are told in `unknown`: other programs may have variables there.
Values settings_from_environment(const std::map<std::string, std::string>& environment,
                                 std::vector<std::string>& unknown);

// Immutable. Every value has been checked.
class Settings {
 public:
  // Invalid (BAD_SETTING) names the setting, where it came from, and what is allowed.
  Settings(const Values& file, const Values& environment, const Values& flags);

  const std::string& text(std::string_view path) const;
  std::int64_t integer(std::string_view path) const;
  double fraction(std::string_view path) const;  // from 0 to 1
  bool enabled(std::string_view path) const;
  Duration duration(std::string_view path) const;
  std::vector<Duration> durations(std::string_view path) const;  // none where it says "never"
  std::vector<std::string> list(std::string_view path) const;

  // For a person: no secrets, and of URLs no passwords, paths or queries.
  std::string shown(std::string_view path) const;
  std::string_view origin(std::string_view path) const;  // standard, file, environment, flag

 private:
  struct Value {
    std::string text;
    std::string_view origin;
  };
  const Value& at(std::string_view path) const;
  std::map<std::string, Value, std::less<>> values_;
};

// "postgresql://host/name" of one with user, password and options; "https://host" of a webhook.
std::string shown_url(std::string_view url);

// "30s", "500ms", "5m", "24h", "7d"; nothing where it cannot be read.
std::optional<Duration> parse_duration(std::string_view text);

}  // namespace skald::cli
