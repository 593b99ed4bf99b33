// The commands that there are.
#include <algorithm>
#include <iterator>

#include "cli/arguments.h"
#include "cli/flow_commands.h"

namespace skald::cli {
namespace {

const std::vector<Command>& engine_commands() {
  static const std::vector<Flag> paging = {{"limit", "N", "entries at most, 1 to 200"},
                                           {"cursor", "CURSOR", "go on where a list before this one ended"},
                                           {"service", "NAME", "of this service alone"}};
  static const Flag service = {"service", "NAME", "the one that is meant, where several have the id"};
  static const auto with = [](std::vector<Flag> flags, const std::vector<Flag>& more) {
    flags.insert(flags.end(), more.begin(), more.end());
    return flags;
  };
  static const std::vector<Command> all = {
      {"serve", "", "Run the services and their API.", {}},
      {"worker", "", "Deliver events without an API, beside other processes (PostgreSQL).", {}},
      {"agent-run", "FOLDER", "Supervise one run of an agent; the server starts it.", {}},
      {"mcp", "", "Serve an agent of a workflow by MCP; its program starts it.", {}},
      {"agent-script", "", "Do what the lines of standard input say, as the agent named scripted does.", {}},
      {"sandbox-provider", "", "Run a payment provider that misbehaves as it is told, for trying orders out.", {}},
      {"demo booking",
       "",
       "Send believable traffic to the booking system that runs, and show how it fares.",
       {{"rate", "N", "requests per second: 20 unless you say"},
        {"seconds", "N", "how long: 30 unless you say"},
        {"only-bookings", "", "nobody cancels, and there is room for everybody: for measuring"},
        {"follow-one-in", "N", "follow one booking of so many by its events: all unless you say"}},
       true},
      {"demo flow",
       "",
       "Show what a workflow of agents is: on a server, repositories and data of its own, which are removed at the "
       "end.",
       {}},
      {"migrate", "", "Bring the database's schema up to date and say what it is.", {}},
      {"outbox list", "", "List events and what became of them, newest first.",
       with({{"status", "STATUS", "PENDING, PROCESSING, FAILED, COMPLETED or DEAD_LETTER"},
             {"type", "TYPE", "such as donation.accepted"},
             {"key", "KEY", "such as a donor"}},
            paging),
       true},
      {"outbox show", "ID", "Show one event with its attempts.", {service}, true},
      {"dlq list", "", "List dead letters, newest first.",
       with({{"state", "STATE", "DEAD (what you get unless you ask), REPLAYED, DISCARDED or ANY"},
             {"reason", "REASON", "such as RETRIES_EXHAUSTED"},
             {"type", "TYPE", "such as donation.accepted"},
             {"key", "KEY", "such as a donor"}},
            paging),
       true},
      {"dlq show", "ID", "Show one dead letter with its payload.", {service}, true},
      {"dlq replay", "ID", "Send a dead letter again, under its own id.", {service}, true},
      {"dlq discard",
       "ID",
       "Give a dead letter up, for a reason.",
       {{"reason", "TEXT", "why; kept in the audit"}, service},
       true},
      {"dlq import",
       "",
       "Bring dead letters back from the fallback files.",
       {{"service", "NAME", "of this service alone"}},
       true},
      {"subscribers list", "", "List the services that get events by the post, and what they are owed.", paging, true},
      {"subscribers show", "NAME", "Show one subscriber, and how far its lanes are.", {service}, true},
      {"subscribers remove",
       "NAME",
       "Owe a subscriber nothing any more, for a reason.",
       {{"reason", "TEXT", "why; kept in the audit"}, service},
       true},
      {"sagas list", "", "List sagas and how far they are, newest first.",
       with({{"status", "STATUS", "RUNNING, WAITING, COMPENSATING, COMPLETED, COMPENSATED or NEEDS_HELP"},
             {"type", "TYPE", "such as order.place"},
             {"key", "KEY", "its business key"},
             {"code", "CODE", "of its error, such as CRASHED"}},
            paging),
       true},
      {"sagas show", "ID", "Show one saga with its state and steps.", {service}, true},
      {"sagas retry",
       "[ID]",
       "Let a saga that needs help try again, or all of them.",
       {{"all", "", "all that need help, but for those parked as CRASHED or UNREADABLE"},
        {"type", "TYPE", "with --all: of this type"},
        {"code", "CODE", "with --all: parked with this error, also CRASHED or UNREADABLE"},
        service},
       true},
      {"sagas compensate",
       "ID",
       "Undo what a saga has done, for a reason.",
       {{"reason", "TEXT", "why; kept in the audit"}, service},
       true},
      {"sagas signal",
       "ID NAME",
       "Send a saga what it waits for.",
       {{"payload", "JSON", "what goes with it"}, {"id", "ID", "the same id again is the same signal"}, service},
       true},
      {"locks", "", "List semantic locks: who holds them, since when, and who waits.",
       with({{"resource", "NAME", "such as product"},
             {"key", "KEY", "such as a sku"},
             {"saga", "ID", "held by this saga"}},
            paging),
       true},
      {"story", "KEY", "Tell everything that happened to a business key across the services, in order.", {}, true},
      {"lint",
       "",
       "Say where the program's sagas could corrupt each other; fails where nothing covers it.",
       {{"all", "", "show what is covered, and advice, too"}},
       true},
      {"check",
       "[FILE]",
       "Find in a history where sagas corrupted each other: what this installation has recorded, or a file of lines, "
       "or "
       "- for standard input.",
       {{"part", "", "the file is cut out: sagas may have begun before it and go on behind it"},
        {"service", "NAME", "what was recorded of this service alone"},
        {"lines", "", "print the history itself, as lines that check reads"},
        {"edn", "", "print the history as EDN, for Jepsen's checkers"}},
       true},
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

}  // namespace

std::span<const Command> commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> out = engine_commands();
    std::ranges::copy(flow_commands(), std::back_inserter(out));
    return out;
  }();
  return all;
}

}  // namespace skald::cli
