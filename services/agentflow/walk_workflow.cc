// Pausing, resuming and cancelling: over the works one after the other, then the workflow.
#include "agentflow/events.h"
#include "agentflow/queries.h"
#include "agentflow/questions.h"
#include "agentflow/usage.h"
#include "agentflow/use.h"
#include "agentflow/walk.h"

namespace agentflow {
namespace {

using skald::Guard;
using skald::Local;
using skald::Remote;

constexpr skald::Duration kLook = 20ms;

// The rule of one work; what it has become is said, and its agents are noted.
template <class Rule>
void change_work(Local& step, WorkflowWalk& walk, const std::string& id, Rule&& rule) {
  if (!step->find<Work>(id)) return;
  WorkStatus before{};
  const Work work = skald::change<Work>(step.tx(), id, [&](Work& row) {
    before = row.status;
    rule(row);
  });
  if (work.status != before) say(step.tx(), kWorkStatusChanged, work);
  note_runs(work, walk.runs);
  note_query_runs(step.tx(), id, walk.runs);
}

// The agent of a running task is on its way out; the task itself begins anew some day.
void let_go_of_agent(Work& work) {
  if (work.agent_status == AgentStatus::STARTING || work.agent_status == AgentStatus::RUNNING)
    work.agent_status = AgentStatus::STOPPING;
}

void cancel_work(Local& step, WorkflowWalk& walk, Use& work) {
  withdraw_questions(step.tx(), work.id, "the workflow was cancelled");
  change_work(step, walk, work.id, [](Work& row) {
    if (!allows(row.status, WorkStatus::CANCELLED)) return;
    row.status = WorkStatus::CANCELLED;
    let_go_of_agent(row);
  });
}

// Behind the end of all agents: one that was never launched tells nobody of its end.
void note_agent_gone(Local& step, WorkflowWalk& walk, Use& work) {
  change_work(step, walk, work.id, [](Work& row) {
    if (row.agent_status == AgentStatus::STOPPING) row.agent_status = AgentStatus::IDLE;
  });
}

// Its agent is gone for sure: whoever stopped it has waited for that.
void reset_work(Local& step, WorkflowWalk& walk, Use& work) {
  change_work(step, walk, work.id, [](Work& row) {
    if (row.status != WorkStatus::STOPPED && row.status != WorkStatus::FAILED) return;
    row.status = WorkStatus::PENDING;
    row.agent_status = AgentStatus::IDLE;
    row.error.reset();
    edit<Tasks>(row.tasks, [](Tasks& tasks) {
      for (Task& task : tasks)
        if (task.status != TaskStatus::COMPLETED) task.status = TaskStatus::PENDING;
    });
  });
}

WorkflowLimits limits_after(const Workflow& workflow, const WorkflowWalk& walk) {
  const auto own = workflow.limits ? skald::from_json<WorkflowLimits>(*workflow.limits) : WorkflowLimits{};
  return merged(own, walk.limits.value_or(WorkflowLimits{}));
}

// A workflow at its limit would fail again at once.
void refuse_at_limit(const Outside& outside, Local& step, Workflow workflow, const WorkflowWalk& walk) {
  workflow.limits = skald::to_json(limits_after(workflow, walk));
  if (const auto why = out_of_bounds(outside.options, step.tx(), workflow))
    throw skald::Refused("LIMIT_REACHED", why->substr(why->find(' ') + 1));
}

auto into(WorkflowMove how) {
  return [how](Local& step, WorkflowWalk& walk) {
    const Workflow workflow = move(step.tx(), walk.workflow_id, how, [&](Workflow& row) {
      row.saga_id = step.saga_id();
      row.cancel_wanted = false;
      if (how != WorkflowMove::resume) return;
      row.error.reset();
      if (walk.limits) row.limits = skald::to_json(limits_after(row, walk)), row.warning.reset();
    });
    walk.works.clear(), walk.runs.clear();
    for (const std::string& id : in_column<Ids>(workflow.work_ids)) walk.works.push_back({id});
    if (how == WorkflowMove::resume) say(step.tx(), kWorkflowResumed, workflow);
  };
}

}  // namespace

void end_run(const Outside& outside, const std::string& run, const std::string& why, skald::Duration patience) {
  const skald::Instant end = outside.env.clock.steady() + patience;
  for (outside.agents().prevent(run, why);;) {
    const auto seen = outside.agents().look(run);
    if (!seen || seen->end) return;
    if (outside.env.clock.steady() >= end)
      throw skald::Unavailable("AGENT_LIVES", "an agent was told to end and still runs: " + run);
    outside.options.pause(kLook);
  }
}

void let_end(const Outside& outside, const std::string& run, skald::Duration patience) {
  const skald::Instant latest = outside.env.clock.steady() + kLastWords;
  for (auto seen = outside.agents().look(run); seen && !seen->end && outside.env.clock.steady() < latest;
       seen = outside.agents().look(run))
    outside.options.pause(kLook);
  end_run(outside, run, "its task is done", patience);
}

void stop_work(Local& step, WorkflowWalk& walk, Use& work) {
  withdraw_questions(step.tx(), work.id, "the work was stopped");
  change_work(step, walk, work.id, [](Work& row) {
    if (row.status != WorkStatus::RUNNING) return;
    row.status = WorkStatus::STOPPED;
    let_go_of_agent(row);
  });
}

void note_runs(const Work& work, std::vector<std::string>& runs) {
  for (const Task& task : in_column<Tasks>(work.tasks))
    for (int attempt = 1; attempt <= task.attempt; ++attempt)
      runs.push_back(work.id + "." + std::to_string(task.n) + "." + std::to_string(attempt));
}

void add_stop(skald::Saga<WorkflowWalk>& saga, const OutsideHandle& outside) {
  saga.remote("end agents",
              [outside](Remote& step, WorkflowWalk& walk) {
                for (const std::string& run : walk.runs) end_run(*outside, run, "its work was stopped", step.timeout());
              })
      .nothing_to_undo()
      .timeout(30s);
}

skald::Saga<WorkflowWalk> pause_saga(const OutsideHandle& outside) {
  skald::Saga<WorkflowWalk> saga("agentflow.pause");
  saga.local("begin", into(WorkflowMove::pause))
      .nothing_to_undo()
      .holds("workflow", &WorkflowWalk::workflow_id, skald::exclusive, skald::wait_up_to(60s))
      .pivot()
      .writes("workflow", Guard::optimistic)
      .commit()
      .each("stop work", &WorkflowWalk::works, stop_work)
      .writes("work", Guard::optimistic)
      .commit();
  add_stop(saga, outside);
  return saga.each("note agent gone", &WorkflowWalk::works, note_agent_gone)
      .writes("work", Guard::optimistic)
      .commit()
      .local("paused",
             [](Local& step, WorkflowWalk& walk) {
               const auto workflow = step->find<Workflow>(walk.workflow_id);
               if (workflow->status != WorkflowStatus::PAUSING) return;  // a work failed meanwhile
               say(step.tx(), kWorkflowPaused, move(step.tx(), walk.workflow_id, WorkflowMove::works_stopped));
             })
      .writes("workflow", Guard::optimistic);
}

// The works first: whoever hears of the resumption finds them as they are to be.
skald::Saga<WorkflowWalk> resume_saga(const OutsideHandle& outside) {
  return skald::Saga<WorkflowWalk>("agentflow.resume")
      .local("look",
             [outside](Local& step, WorkflowWalk& walk) {
               const Workflow workflow = skald::found<Workflow>(step.tx(), walk.workflow_id);
               if (!allows(workflow.status, WorkflowMove::resume)) refuse(workflow.status, WorkflowMove::resume);
               refuse_at_limit(*outside, step, workflow, walk);
               walk.works.clear();
               for (const std::string& id : in_column<Ids>(workflow.work_ids)) walk.works.push_back({id});
             })
      .nothing_to_undo()
      .holds("workflow", &WorkflowWalk::workflow_id, skald::exclusive, skald::wait_up_to(60s))
      .pivot()
      .reads("workflow")
      .commit()
      .each("reset work", &WorkflowWalk::works, reset_work)
      .writes("work", Guard::optimistic)
      .commit()
      .local("resume", into(WorkflowMove::resume))
      .writes("workflow", Guard::optimistic);
}

skald::Saga<WorkflowWalk> cancel_saga(const OutsideHandle& outside) {
  skald::Saga<WorkflowWalk> saga("agentflow.cancel");
  saga.local("begin", into(WorkflowMove::cancel))
      .nothing_to_undo()
      .holds("workflow", &WorkflowWalk::workflow_id, skald::exclusive, skald::wait_up_to(10min))
      .pivot()
      .writes("workflow", Guard::optimistic)
      .commit()
      .each("cancel work", &WorkflowWalk::works, cancel_work)
      .writes("work", Guard::optimistic)
      .commit();
  add_stop(saga, outside);
  return saga.each("note agent gone", &WorkflowWalk::works, note_agent_gone)
      .writes("work", Guard::optimistic)
      .commit()
      .local("cancelled",
             [](Local& step, WorkflowWalk& walk) {
               say(step.tx(), kWorkflowCancelled, move(step.tx(), walk.workflow_id, WorkflowMove::works_cancelled));
             })
      .writes("workflow", Guard::optimistic);
}

}  // namespace agentflow
