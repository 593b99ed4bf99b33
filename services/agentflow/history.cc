#include "agentflow/history.h"

#include "agentflow/events.h"
#include "agentflow/task_end.h"

namespace agentflow {
namespace {

constexpr std::string_view kPrefix = "agentflow.";

std::string text_member(const boost::json::value& payload, std::string_view name) {
  const auto* object = payload.if_object();
  const auto* found = object != nullptr ? object->if_contains(name) : nullptr;
  return found != nullptr && found->is_string() ? std::string(found->get_string()) : "";
}

bool is_known(skald::Transaction& tx, const std::string& workflow_id, const std::string& event_id) {
  return !tx.query("SELECT 1 FROM flow_history WHERE workflow_id = $1 AND event_id = $2", workflow_id, event_id)
              .empty();
}

}  // namespace

std::optional<Subject> subject_of(skald::Transaction& tx, const skald::Message& message) {
  if (message.event.type == kAgentEnded) {
    const auto run = run_named(payload_of<AgentEnded>(message).run);
    const auto work = run ? tx.find<Work>(run->work_id) : std::nullopt;
    return work ? std::optional(Subject{work->workflow_id, work->id}) : std::nullopt;
  }
  const auto payload = skald::json::parse(message.event.payload);
  Subject out{text_member(payload, "workflowId"), text_member(payload, "workId")};
  return out.workflow_id.empty() ? std::nullopt : std::optional(std::move(out));
}

void append_history(skald::Transaction& tx, const std::string& workflow_id, const skald::Message& message,
                    std::int64_t kept) {
  if (!tx.find<Story>(workflow_id) || is_known(tx, workflow_id, message.event.id)) return;
  std::int64_t position = 0;
  try {
    position = skald::change<Story>(tx, workflow_id, [](Story& story) { ++story.last; }).last;
  } catch (const skald::NotFound&) {
    return;  // deleted since it was looked at
  }
  tx.insert(Happening{.workflow_id = workflow_id,
                      .position = position,
                      .event_id = message.event.id,
                      .at = message.time,
                      .type = message.event.type,
                      .payload = {message.event.payload}});
  if (position > kept)
    tx.execute("DELETE FROM flow_history WHERE workflow_id = $1 AND position <= $2", workflow_id, position - kept);
}

std::vector<Happening> history_after(skald::Transaction& tx, const std::string& workflow_id, std::int64_t position,
                                     std::size_t most) {
  return tx.select<Happening>("WHERE workflow_id = $1 AND position > $2 ORDER BY position LIMIT $3", workflow_id,
                              position, most);
}

std::string short_type(const Happening& one) {
  return one.type.starts_with(kPrefix) ? one.type.substr(kPrefix.size()) : one.type;
}

}  // namespace agentflow
