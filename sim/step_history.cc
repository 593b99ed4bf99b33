#include "sim/step_history.h"

#include <boost/json.hpp>
#include <set>

#include "sim/signals.h"
#include "skald/saga_view.h"

namespace skald::sim {
namespace {

const std::set<std::string> kNothingToUndo = {"read", "look again", "out", "depart", "turn", "key", "in"};

std::string joined(const std::vector<std::string>& lines) {
  std::string out;
  for (const std::string& line : lines) out += (out.empty() ? "" : " ") + line;
  return "'" + out + "'";
}

std::vector<std::string> trail_of(std::string_view state) {
  std::vector<std::string> out;
  const auto whole = json::parse(state);
  for (const auto& line : whole.at("trail").as_array()) out.emplace_back(line.as_string());
  return out;
}

// The lines of those steps that note themselves.
std::vector<std::string> lines_of(std::string_view log) {
  std::vector<std::string> out;
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    const auto line = from_json<StepView>(log.substr(0, end));
    log.remove_prefix(std::min(end + 1, log.size()));
    if (line.kind != "local" && line.kind != "child") continue;
    if (line.status == "DONE") out.push_back(line.name);
    if (line.status == "UNDONE") out.push_back("-" + line.name);
  }
  return out;
}

}  // namespace

void StepHistory::observe(Transaction& tx) {
  const Rows rows = tx.query("SELECT n, saga, step, undo FROM sim_did WHERE n > $1 ORDER BY n", read_upto_);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    read_upto_ = rows.get<std::int64_t>(i, 0);
    const auto saga = rows.get<std::string>(i, 1), step = rows.get<std::string>(i, 2);
    Story& story = stories_[saga];
    if (!rows.get<bool>(i, 3)) {
      story.lines.push_back(step);
      if (!kNothingToUndo.contains(step)) story.to_undo.push_back(step);
      continue;
    }
    story.lines.push_back("-" + step);
    if (story.to_undo.empty() || story.to_undo.back() != step)
      throw BrokenInvariant{"I4",
                            "saga " + saga + " undoes '" + step + "' while there is to undo " + joined(story.to_undo)};
    story.to_undo.pop_back();
  }
}

void StepHistory::check_end(Transaction& tx) const {
  const Rows rows = tx.query("SELECT id, status, log, state FROM skald_saga");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const auto id = rows.get<std::string>(i, 0);
    const auto found = stories_.find(id);
    const Story story = found == stories_.end() ? Story{} : found->second;
    if (rows.get<std::string>(i, 1) == "COMPENSATED" && !story.to_undo.empty())
      throw BrokenInvariant{"I4", "saga " + id + " has ended undone, but not " + joined(story.to_undo)};
    const auto logged = lines_of(rows.get<std::string>(i, 2));
    if (logged != story.lines)
      throw BrokenInvariant{"I4", "saga " + id + " did " + joined(story.lines) + " and its log says " + joined(logged)};
    const auto trail = trail_of(rows.get<std::string>(i, 3));
    if (trail != story.lines)
      throw BrokenInvariant{"I4",
                            "saga " + id + " did " + joined(story.lines) + " and its state says " + joined(trail)};
  }
}

}  // namespace skald::sim
