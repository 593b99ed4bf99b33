#include "agentflow/history_tail.h"

#include <boost/json/serialize.hpp>

namespace agentflow {
namespace {

constexpr std::int64_t kTailMax = 256;

// {position, at, type} and what the event itself holds.
std::string data_of(const Happening& one) {
  boost::json::object out{
      {"position", one.position}, {"at", skald::json::parse(skald::to_json(one.at))}, {"type", one.type}};
  const auto payload = skald::json::parse(one.payload.text);
  if (const auto* members = payload.if_object())
    for (const auto& member : *members) out.insert(member);
  return boost::json::serialize(out);
}

}  // namespace

std::string sse_text(const Happening& one) {
  return "id: " + std::to_string(one.position) + "\nevent: " + short_type(one) + "\ndata: " + data_of(one) + "\n\n";
}

HistoryTail read_tail(skald::Database& db, const std::string& workflow_id, const HistoryTail* before) {
  return db.read_result([&](skald::Transaction& tx) {
    HistoryTail out = before != nullptr ? *before : HistoryTail{};
    const auto story = tx.find<Story>(workflow_id);
    if (!story) {
      out.gone = true;
      return out;
    }
    if (before == nullptr) out.last = story->last;
    if (story->last <= out.last) return out;
    const std::int64_t from = std::max(out.last, story->last - kTailMax);
    if (from > out.last) out.lines.clear();
    for (const Happening& one : history_after(tx, workflow_id, from, kTailMax))
      out.lines.push_back(std::make_shared<const HistoryLine>(HistoryLine{one.position, sse_text(one)}));
    if (out.lines.size() > kTailMax) out.lines.erase(out.lines.begin(), out.lines.end() - kTailMax);
    out.last = story->last;
    return out;
  });
}

}  // namespace agentflow
