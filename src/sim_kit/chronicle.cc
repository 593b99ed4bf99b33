#include "sim_kit/chronicle.h"

#include "saga/progress.h"

namespace skald::sim::kit {
namespace {

void append(std::string& out, const std::string& part, std::string_view between = ", ") {
  if (!out.empty()) out += between;
  out += part;
}

std::string words_of(const StepView& line) {
  const std::string name = "'" + line.name + "'";
  if (line.status == "UNDONE") return "the undo of " + name;
  if (line.status == "REFUSED") return "the refusal of " + name;
  if (line.status == "FAILED") return "a failed try of " + name;
  return "step " + name;
}

// What has been begun and will be waited for; empty: nothing new.
std::string begun(const saga::Definition& definition, const saga::Progress& progress) {
  if (!progress.called) return {};
  const bool undoes = progress.undoing && !progress.done.empty();
  const auto index = static_cast<std::size_t>(undoes ? progress.done.back().step : progress.step);
  if (index >= definition.steps.size()) return {};
  const saga::Step& step = definition.steps[index];
  if (undoes) return "the intent to undo '" + step.name + "'";
  return (step.kind == saga::Kind::remote ? "the intent to call '" : "the wait in '") + step.name + "'";
}

}  // namespace

std::string Chronicle::changes_of(const tables::saga::Row& row, const Seen* before) const {
  std::string out;
  if (before == nullptr) append(out, "the start");
  std::string_view log = row.log;
  log.remove_prefix(before != nullptr ? before->log : 0);
  while (!log.empty()) {
    const auto end = std::min(log.find('\n'), log.size());
    append(out, words_of(from_json<StepView>(log.substr(0, end))));
    log.remove_prefix(std::min(end + 1, log.size()));
  }
  const bool ended = has_ended(row.status), parked = row.status == SagaStatus::NEEDS_HELP;
  const bool moved = before == nullptr || before->progress != row.progress;
  if (moved && !ended) {
    const auto definition = stage_.registry.all().find({row.type, row.revision});
    const std::string words = begun(definition->second, from_json<saga::Progress>(row.progress));
    const std::string old =
        before != nullptr ? begun(definition->second, from_json<saga::Progress>(before->progress)) : "";
    if (!words.empty() && words != old) append(out, words);
  }
  if (ended && (before == nullptr || !before->ended)) append(out, "the end");
  if (parked && (before == nullptr || !before->parked)) append(out, "the call for help");
  if (!out.empty()) return out;
  if (before->owner != row.owner) return row.owner.empty() ? "that nobody owns it now" : "the claim by a worker";
  return moved ? "a wait" : "";
}

std::string Chronicle::changes(Transaction& tx) {
  std::string out;
  seen_.clear();
  for (const auto& row : tables::saga::list(tx, {.status = {}, .type = {}, .key = {}, .after = {}, .limit = 1000})) {
    const auto before = known_.find(row.id);
    std::string words = changes_of(row, before == known_.end() ? nullptr : &before->second);
    if (!words.empty() && (stage_.ids.size() > 1 || row.id != stage_.ids.front())) words += " of " + row.id;
    if (!words.empty()) append(out, words, " and ");
    seen_[row.id] = {row.owner, row.progress, row.log.size(), has_ended(row.status),
                     row.status == SagaStatus::NEEDS_HELP};
  }
  return out;
}

}  // namespace skald::sim::kit
