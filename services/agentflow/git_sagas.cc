// Cloning a repository, and what follows when a Git or an McpServer is gone.
#include "agentflow/events.h"
#include "agentflow/flow.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

void set_status(Local& step, const std::string& id, GitStatus status, const std::optional<std::string>& error) {
  if (!step->find<Git>(id)) return;  // deleted meanwhile
  skald::change<Git>(step.tx(), id, [&](Git& git) {
    git.status = status;
    git.error = error;
  });
}

// Templates that name it, by their JSON.
void note_templates(Local& step, ForgetReference& forget) {
  forget.templates.clear();
  const skald::Rows rows =
      step->query("SELECT id FROM flow_template WHERE body LIKE $1 ORDER BY id", "%" + skald::to_json(forget.id) + "%");
  for (std::size_t i = 0; i < rows.size(); ++i) forget.templates.push_back({rows.get<std::string>(i, 0)});
}

}  // namespace

skald::Saga<CloneGit> clone_saga(const OutsideHandle& outside) {
  const auto clear = [outside](Remote&, CloneGit& clone) { outside->spaces().remove(clone.path); };
  return skald::Saga<CloneGit>("agentflow.clone")
      .local("look", [](Local&, CloneGit&) {})
      .undo([](Local& step, CloneGit& clone) {
        const auto why = step.context().failure;
        set_status(step, clone.git_id, GitStatus::FAILED, why ? why->message : "it was given up by an operator");
      })
      .holds("git", &CloneGit::git_id, skald::exclusive)
      // Its undo counts for whatever tries of the clone have left, also where the last one is refused.
      .remote("clear folder", clear)
      .undo(clear)
      .remote("clone",
              [outside](Remote&, CloneGit& clone) { outside->options.repositories->clone(clone.remote, clone.path); })
      .nothing_to_undo()
      .retry(2, 1s)
      .timeout(10min)
      .local("ready",
             [](Local& step, CloneGit& clone) { set_status(step, clone.git_id, GitStatus::READY, std::nullopt); })
      .nothing_to_undo()
      .writes("clone", Guard::optimistic);
}

skald::Saga<ForgetReference> forget_saga(const OutsideHandle& outside) {
  return skald::Saga<ForgetReference>("agentflow.forget")
      .local("note templates", note_templates)
      .holds("git", &ForgetReference::id, skald::exclusive, skald::wait_up_to(24h))  // its clone may still be made
      .reads("template")
      .each("drop reference", &ForgetReference::templates,
            [](Local& step, ForgetReference& forget, Use& use) { drop_reference(step.tx(), use.id, forget.id); })
      .writes("template", Guard::optimistic)
      .commit()
      .remote("remove clone", [outside](Remote&, ForgetReference& forget) { outside->spaces().remove(*forget.folder); })
      .when([](const ForgetReference& forget) { return forget.folder.has_value(); })
      .forward_only();
}

}  // namespace agentflow
