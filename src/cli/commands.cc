// The commands that there are.
#include "cli/arguments.h"

namespace skald::cli {

std::span<const Command> commands() {
  static const std::vector<Flag> paging = {{"limit", "N", "entries at most, 1 to 200"},
                                           {"cursor", "CURSOR", "go on where a list before this one ended"}};
  static const auto with = [](std::vector<Flag> flags, const std::vector<Flag>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  static const std::vector<Command> all = {
      {"serve", "", "Run the services and their API.", {}},
      {"worker", "", "Deliver events without an API, beside other processes (PostgreSQL).", {}},
      {"migrate", "", "Bring the database's schema up to date and say what it is.", {}},
      {"outbox list", "", "List events and what became of them, newest first.",
       with({{"status", "STATUS", "PENDING, PROCESSING, FAILED, COMPLETED or DEAD_LETTER"},
             {"type", "TYPE", "such as donation.accepted"},
             {"key", "KEY", "such as a donor"}},
            paging),
       true},
      {"outbox show", "ID", "Show one event with its attempts.", {}, true},
      {"dlq list", "", "List dead letters, newest first.",
       with({{"state", "STATE", "DEAD (what you get unless you ask), REPLAYED, DISCARDED or ANY"},
             {"reason", "REASON", "such as RETRIES_EXHAUSTED"},
             {"type", "TYPE", "such as donation.accepted"},
             {"key", "KEY", "such as a donor"}},
            paging),
       true},
      {"dlq show", "ID", "Show one dead letter with its payload.", {}, true},
      {"dlq replay", "ID", "Send a dead letter again, under its own id.", {}, true},
      {"dlq discard",
       "ID",
       "Give a dead letter up, for a reason.",
       {{"reason", "TEXT", "why; kept in the audit"}},
       true},
      {"dlq import", "", "Bring dead letters back from the fallback file.", {}, true},
      {"token",
       "",
       "Make a token for the API.",
       {{"role", "ROLE", "customer, admin or system"},
        {"subject", "NAME", "who the token is for"},
        {"ttl", "TIME", "how long it is good: 24h unless you say"}}},
      {"doctor", "", "Check the installation and say what to do.", {}, true},
      {"completion", "SHELL", "Print the completion for bash, zsh or fish.", {}},
  };
  return all;
}

}  // namespace skald::cli
