#include "cli/arguments.h"

#include <algorithm>
#include <ranges>

#include "cli/nearest.h"
#include "cli/secret_in_url.h"

namespace skald::cli {
namespace {

const std::vector<Flag> kEverywhere = {{"config", "FILE", "a TOML file of settings (SKALD_CONFIG)"},
                                       {"json", "", "answer in JSON"},
                                       {"help", "", "show this"}};
const std::vector<Flag> kForApi = {{"server", "URL", "ask this server instead of the one of the data folder"},
                                   {"token-file", "FILE", "a file with the token to show it, instead of SKALD_TOKEN"}};

constexpr std::size_t kOperandsMax = 1000;

[[noreturn]] void refuse(const std::string& why) { throw Invalid("USAGE", why); }

struct OperandCount {
  std::size_t least = 0, most = 0;
};

// Of "ID NAME", "[FILE]" or "NAME [WORD…]".
OperandCount count_operands(std::string_view text) {
  OperandCount out;
  for (const auto part : std::views::split(text, ' ')) {
    const std::string_view word(part.begin(), part.end());
    if (word.empty()) continue;
    ++out.most;
    if (!word.starts_with('[')) ++out.least;
    if (word.ends_with("…]")) out.most = kOperandsMax;
  }
  return out;
}

// What may stand behind the words that are there: "dlq" -> "list", "show", ….
std::vector<std::string> next_words(std::string_view begun) {
  std::vector<std::string> out;
  for (const Command& command : commands()) {
    std::string_view rest = command.name;
    if (!begun.empty()) {
      if (!rest.starts_with(std::string(begun) + " ")) continue;
      rest.remove_prefix(begun.size() + 1);
    }
    const std::string word(rest.substr(0, rest.find(' ')));
    if (std::ranges::find(out, word) == out.end()) out.push_back(word);
  }
  return out;
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words) out += (out.empty() ? "" : ", ") + word;
  return out;
}

// Takes the words of the command's name off the front.
const Command* take_command(std::span<const std::string>& words) {
  std::string name;
  while (true) {
    const auto options = next_words(name);
    if (options.empty()) break;
    if (words.empty() || words[0].starts_with("-")) {
      if (name.empty()) return nullptr;
      refuse("skald " + name + " what? One of " + joined(options));
    }
    if (std::ranges::find(options, words[0]) == options.end())
      refuse("there is no command '" + (name.empty() ? "" : name + " ") + words[0] + "'" +
             did_you_mean(words[0], options));
    name += (name.empty() ? "" : " ") + words[0];
    words = words.subspan(1);
  }
  const auto found = std::ranges::find(commands(), std::string_view(name), &Command::name);
  return &*found;
}

const Flag* find_flag(const Command* command, std::string_view name) {
  const auto among = [&](const std::vector<Flag>& flags) -> const Flag* {
    const auto found = std::ranges::find(flags, name, &Flag::name);
    return found == flags.end() ? nullptr : &*found;
  };
  if (const Flag* flag = among(kEverywhere)) return flag;
  if (command == nullptr) return nullptr;
  if (const Flag* flag = among(command->flags)) return flag;
  return command->reads_api ? among(kForApi) : nullptr;
}

const Setting* setting_of_flag(std::string_view name) {
  for (const Setting& setting : known_settings())
    if (!name.empty() && flag_name(setting) == name) return &setting;
  return nullptr;
}

std::string secret_hint(std::string_view name) {
  for (const Setting& setting : known_settings()) {
    std::string dashed(setting.path);
    std::ranges::replace(dashed, '.', '-');
    std::ranges::replace(dashed, '_', '-');
    if (setting.kind == Kind::secret && dashed == name)
      return "; secrets are not given on the command line, set " + environment_name(setting) + " instead" +
             (name == "token" ? ", or name a file that holds it with --token-file" : "");
  }
  return "";
}

std::vector<std::string> flag_names(const Command* command) {
  std::vector<std::string> out;
  const auto add = [&](const std::vector<Flag>& flags) {
    for (const Flag& flag : flags) out.push_back("--" + std::string(flag.name));
  };
  if (command != nullptr) add(command->flags);
  if (command != nullptr && command->reads_api) add(kForApi);
  add(kEverywhere);
  for (const Setting& setting : known_settings())
    if (setting.kind != Kind::secret) out.push_back("--" + flag_name(setting));
  return out;
}

// Everybody on the machine can read a command line.
void refuse_password(const std::string& name, const Setting* setting) {
  if (setting == nullptr)
    refuse("--" + name + " has a password in it, which the process list shows: leave it out, and " +
           (name == "remote" ? "let git have it by its credential helper, or use ssh"
                             : "give a token by SKALD_TOKEN or --token-file"));
  refuse("--" + name + " has a password in it, which the process list shows: set " + environment_name(*setting) +
         " instead, or " + std::string(setting->path) + " in the file of --config" +
         (name == "db" ? "; --db itself may name a database whose password comes from PGPASSWORD or a passfile" : ""));
}

// -h everywhere, and -f where there is something to follow.
std::string spelled_out(const Command* command, const std::string& word) {
  if (word == "-h") return "--help";
  return word == "-f" && find_flag(command, "follow") != nullptr ? "--follow" : word;
}

// One flag off the front, with its value.
void take_flag(Arguments& out, std::span<const std::string>& words) {
  const std::string word = spelled_out(out.command, words[0]);
  words = words.subspan(1);
  const std::size_t equals = word.find('=');
  const std::string name = word.substr(2, equals == word.npos ? word.npos : equals - 2);
  const Flag* flag = find_flag(out.command, name);
  const Setting* setting = flag == nullptr ? setting_of_flag(name) : nullptr;
  if (flag == nullptr && setting == nullptr)
    refuse("there is no flag --" + name +
           (secret_hint(name).empty() ? did_you_mean("--" + name, flag_names(out.command)) : secret_hint(name)));
  const bool is_switch = flag != nullptr ? flag->value.empty() : setting->kind == Kind::boolean;
  std::string value = "true";
  if (equals != word.npos) {
    if (flag != nullptr && is_switch) refuse("--" + name + " takes no value");
    value = word.substr(equals + 1);
  } else if (!is_switch) {
    if (words.empty()) refuse("--" + name + " needs a value");
    value = words[0];
    words = words.subspan(1);
  }
  const bool is_url = flag != nullptr ? flag->value == "URL" : setting->kind == Kind::url;
  if (is_url && has_password(value)) refuse_password(name, setting);
  if (flag != nullptr && flag->repeats) {
    out.lists[name].push_back(value);
    return;
  }
  const bool added =
      flag != nullptr ? out.flags.emplace(name, value).second : out.settings.emplace(setting->path, value).second;
  if (!added) refuse("--" + name + " is given twice");
}

std::string row(std::string_view left, std::string_view right) {
  std::string out = "  " + std::string(left);
  out += std::string(out.size() < 34 ? 34 - out.size() : 1, ' ');
  return out + std::string(right) + "\n";
}

std::string flag_rows(const std::vector<Flag>& flags) {
  std::string out;
  for (const Flag& flag : flags)
    out += row("--" + std::string(flag.name) + (flag.value.empty() ? "" : " " + std::string(flag.value)), flag.help);
  return out;
}

std::string value_name(Kind kind) {
  switch (kind) {
    case Kind::url: return " URL";
    case Kind::integer:
    case Kind::fraction: return " N";
    case Kind::boolean: return "";
    case Kind::list:
    case Kind::durations: return " LIST";
    case Kind::duration: return " TIME";
    default: return " NAME";
  }
}

std::string setting_rows() {
  std::string out;
  for (const Setting& setting : known_settings()) {
    const std::string left =
        setting.kind == Kind::secret ? environment_name(setting) : "--" + flag_name(setting) + value_name(setting.kind);
    std::string right(setting.help);
    if (setting.kind == Kind::integer || setting.kind == Kind::choice) right += "; " + allowed_values(setting);
    if (!setting.standard.empty()) right += " [" + std::string(setting.standard) + "]";
    out += row(left, right);
  }
  return out;
}

}  // namespace

std::string Arguments::flag(std::string_view name) const {
  const auto found = flags.find(name);
  return found == flags.end() ? "" : found->second;
}

std::vector<std::string> Arguments::all(std::string_view name) const {
  const auto found = lists.find(name);
  return found == lists.end() ? std::vector<std::string>{} : found->second;
}

Arguments parse_arguments(std::span<const std::string> words) {
  Arguments out;
  if (words.size() == 1 && (words[0] == "--version" || words[0] == "-V" || words[0] == "version")) {
    out.version = true;
    return out;
  }
  if (!words.empty() && words[0] == "help") {
    out.help = true;
    words = words.subspan(1);
  }
  out.command = take_command(words);
  bool flags_end = false;
  while (!words.empty()) {
    if (words[0] == "--") {
      flags_end = true;
      words = words.subspan(1);
    } else if (!flags_end && spelled_out(out.command, words[0]).starts_with("--")) {
      take_flag(out, words);
    } else if (!flags_end && words[0].starts_with("-") && words[0].size() > 1) {
      refuse("there is no flag " + words[0] + "; flags begin with two dashes");
    } else {
      out.operands.push_back(words[0]);
      words = words.subspan(1);
    }
  }
  out.help = out.help || out.flags.contains("help");
  if (out.help || out.command == nullptr) return out;
  const auto [least, most] = count_operands(out.command->operands);
  if (out.operands.size() < least)
    refuse("skald " + std::string(out.command->name) + " needs " + std::string(out.command->operands));
  if (out.operands.size() > most)
    refuse("'" + out.operands[most] + "' is one word too many for skald " + std::string(out.command->name));
  return out;
}

std::string help_text(const Command* command) {
  if (command == nullptr) {
    std::string out = "usage: skald COMMAND [FLAGS]\n\n";
    for (const Command& each : commands())
      out +=
          row(std::string(each.name) + (each.operands.empty() ? "" : " " + std::string(each.operands)), each.summary);
    return out + "\n`skald COMMAND --help` tells more; `skald serve --help` lists every setting.\n";
  }
  std::string out = "usage: skald " + std::string(command->name) +
                    (command->operands.empty() ? "" : " " + std::string(command->operands)) + " [FLAGS]\n" +
                    std::string(command->summary) + "\n\n" + flag_rows(command->flags);
  if (command->reads_api) out += flag_rows(kForApi);
  out += flag_rows(kEverywhere);
  if (command->name != "serve" && command->name != "worker")
    return out + row("--data DIR, --db URL, …", "and every other setting of `skald serve --help`");
  return out + "\nSettings, by flag, by SKALD_ and the name in upper case, or by file:\n" + setting_rows();
}

std::string completion_script(std::string_view shell) {
  std::string firsts, cases, fish;
  for (const std::string& word : next_words("")) {
    firsts += (firsts.empty() ? "" : " ") + word;
    fish += "complete -c skald -n __fish_use_subcommand -f -a " + word + "\n";
    const auto seconds = next_words(word);
    if (seconds.empty()) continue;
    std::string list;
    for (const std::string& second : seconds) list += (list.empty() ? "" : " ") + second;
    cases += "    " + word + ") words=\"" + list + "\" ;;\n";
    fish += "complete -c skald -n '__fish_seen_subcommand_from " + word + "' -f -a '" + list + "'\n";
  }
  std::string flags;
  for (const std::string& name : flag_names(nullptr)) {
    flags += (flags.empty() ? "" : " ") + name;
    fish += "complete -c skald -l " + name.substr(2) + "\n";
  }
  const std::string bash =
      "_skald() {\n  local words=\"\" current=\"${COMP_WORDS[COMP_CWORD]}\"\n  case \"${COMP_CWORD}:${COMP_WORDS[1]}\" "
      "in\n"
      "    1:*) words=\"" +
      firsts + "\" ;;\n    2:*) case \"${COMP_WORDS[1]}\" in\n" + cases +
      "    esac ;;\n  esac\n  [[ $current == -* ]] && words=\"" + flags +
      "\"\n  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\ncomplete -o default -F _skald skald\n";
  if (shell == "bash") return bash;
  if (shell == "zsh") return "autoload -U +X bashcompinit && bashcompinit\n" + bash;
  if (shell == "fish") return fish;
  refuse("completion is there for bash, zsh and fish");
}

}  // namespace skald::cli
