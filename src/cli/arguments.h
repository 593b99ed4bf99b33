// The command line: which commands there are, and what somebody typed.
#pragma once

#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/settings.h"

namespace skald::cli {

struct Flag {
  std::string_view name;
  std::string_view value;  // what to show for its value; empty: a switch
  std::string_view help;
  bool repeats = false;    // may be given several times
};

struct Command {
  std::string_view name;      // "dlq discard"
  std::string_view
      operands;  // "ID": as many words as it takes; "[FILE]": one or none; "[WORD…]" at the end: any number
  std::string_view summary;
  std::vector<Flag> flags;
  bool reads_api = false;     // takes --server and --token-file, too
};

std::span<const Command> commands();

struct Arguments {
  const Command* command = nullptr;  // null with --help and --version alone
  std::map<std::string, std::string, std::less<>> flags;  // switches are "true"
  std::map<std::string, std::vector<std::string>, std::less<>> lists;  // of flags that repeat
  std::vector<std::string> operands;
  Values settings;            // those given as flags
  bool help = false;
  bool version = false;

  bool json() const { return flags.contains("json"); }
  // Empty where it was not given.
  std::string flag(std::string_view name) const;
  // Of a flag that repeats, in the order in which they were given.
  std::vector<std::string> all(std::string_view name) const;
};

// Invalid (USAGE) says what is wrong and what was perhaps meant. Every command
// takes every setting that is no secret as a flag: "--db memory:", "--db=memory:"; a URL with a
// password is refused.
Arguments parse_arguments(std::span<const std::string> words);

std::string help_text(const Command* command);  // null: of the program

// For bash, zsh or fish; Invalid (USAGE) for another.
std::string completion_script(std::string_view shell);

}  // namespace skald::cli
