#include <fmt/format.h>

#include <algorithm>

#include "isolation/checker/history.h"
#include "isolation/checker/lines.h"

namespace skald::checker {
namespace {

// An EDN string; JSON's escapes are EDN's.
std::string key_of(const Operation& operation) {
  std::string out;
  json::write_string(out, operation.resource + "/" + operation.key);
  return out;
}

// The numbers of the writes in the value that `write` made, oldest first.
std::string held_by(const History& history, Index write) {
  std::vector<Index> numbers;
  const Index then = write == kNone ? kNone : history.writes[write].entry;
  for (Index one = write; one != kNone; one = history.writes[one].before)
    if (is_write(history.kind_of(one)) && history.writes[one].undone_at > then)
      numbers.push_back(history.writes[one].number);
  std::reverse(numbers.begin(), numbers.end());
  return fmt::format("[{}]", fmt::join(numbers, " "));
}

struct Transaction {
  Index first = kNone;          // entry
  std::string asked, answered;  // its value at :invoke and at its end
};

std::vector<Transaction> transactions(const History& history) {
  std::vector<Transaction> result(history.sagas.size());
  for (Index at = 0; at < history.entries.size(); ++at) {
    const Entry& entry = history.entries[at];
    Transaction& one = result[entry.saga];
    if (one.first == kNone) one.first = at;
    std::string asked, answered;
    if (entry.operation->kind == Kind::read && entry.seen != kUnknown) {
      asked = fmt::format("[:r {} nil]", key_of(*entry.operation));
      answered = fmt::format("[:r {} {}]", key_of(*entry.operation), held_by(history, entry.seen));
    } else if (is_write(entry.operation->kind)) {
      asked = answered = fmt::format("[:append {} {}]", key_of(*entry.operation), history.writes[entry.write].number);
    } else {
      continue;
    }
    if (!one.asked.empty()) one.asked += ' ', one.answered += ' ';
    one.asked += asked;
    one.answered += answered;
  }
  return result;
}

}  // namespace

std::string history_edn(std::span<const Operation> operations) {
  for (const Operation& operation : operations) validate(operation);
  const History history = index_history(operations);
  const auto all = transactions(history);
  std::string out;
  std::size_t index = 0;
  const auto line = [&](std::string_view type, Index saga, const std::string& value) {
    out += fmt::format("{{:index {} :type :{} :process {} :f :txn :value [{}]}}\n", index++, type, saga, value);
  };
  for (Index at = 0; at < history.entries.size(); ++at) {
    const Index saga = history.entries[at].saga;
    const SagaLife& life = history.sagas[saga];
    if (at == all[saga].first) line("invoke", saga, all[saga].asked);
    if (at == life.finish) line(life.compensated ? "fail" : "ok", saga, all[saga].answered);
  }
  for (Index saga = 0; saga < history.sagas.size(); ++saga)
    if (history.sagas[saga].finish == kNone) line("info", saga, all[saga].asked);
  return out;
}

}  // namespace skald::checker
