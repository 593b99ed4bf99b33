#include "isolation/checker/lines.h"

#include <fmt/format.h>

#include "base/text.h"

namespace skald::checker {
namespace {

constexpr std::size_t kLineMax = 1 << 20;

bool needs_row(Kind kind) {
  switch (kind) {
    case Kind::begin:
    case Kind::finish:
    case Kind::action:
    case Kind::compensation: return false;
    default: return true;
  }
}

// Enough of a line to find it again.
std::string start_of(std::string_view line) { return cut_text(line, 60); }

}  // namespace

void validate(const Operation& operation) {
  const auto refuse = [&](std::string_view what) {
    throw Invalid("HISTORY_OPERATION", fmt::format("the {} at {} of saga '{}' has no {}", enum_name(operation.kind),
                                                   operation.at, operation.saga_id, what));
  };
  if (operation.saga_id.empty()) refuse("sagaId");
  if (needs_row(operation.kind) && operation.resource.empty()) refuse("resource");
  if (operation.kind == Kind::lock && !operation.mode) refuse("mode (shared or exclusive)");
  if (operation.kind == Kind::finish && !operation.outcome) refuse("outcome (completed, compensated or parked)");
}

Operation read_operation(std::string_view line, std::size_t number) {
  if (line.size() > kLineMax)
    throw Malformed("HISTORY_LINE",
                    fmt::format("line {} of the history is longer than 1 MiB: this is not a history", number));
  try {
    auto operation = from_json<Operation>(line);
    validate(operation);
    return operation;
  } catch (const Malformed& error) {
    throw Malformed("HISTORY_LINE",
                    fmt::format("line {} of the history is garbage ({}): '{}'; remove it or record again", number,
                                error.what(), start_of(line)));
  } catch (const Invalid& error) {
    throw Invalid("HISTORY_LINE", fmt::format("line {} of the history is no operation: {}", number, error.what()));
  }
}

std::vector<Operation> read_history(std::string_view lines) {
  std::vector<Operation> history;
  for (std::size_t number = 1; !lines.empty(); ++number) {
    const auto end = lines.find('\n');
    const std::string_view line = lines.substr(0, end);
    const bool last = end == std::string_view::npos;
    lines.remove_prefix(last ? lines.size() : end + 1);
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    try {
      history.push_back(read_operation(line, number));
    } catch (const Malformed&) {
      if (!last) throw;
      throw Malformed("HISTORY_TORN",
                      fmt::format("the history is torn: its last line, {}, breaks off after '{}'; remove "
                                  "that line to check what is before it",
                                  number, start_of(line)));
    }
  }
  return history;
}

}  // namespace skald::checker
