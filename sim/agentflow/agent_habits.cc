// AgentModel: what an agent does from its begin to its end.
#include <filesystem>

#include "agentflow/mailbox.h"
#include "sim/agentflow/agent_model.h"

namespace skald::sim {
namespace {

using agentflow::AgentRequest;
using agentflow::Mailbox;
using agentflow::RequestKind;

constexpr Duration kLookForAnswer = 1s;
constexpr int kQueriesLooked = 4;

bool was_answered(const AgentRun& run) { return run.spec.input.find("a person has answered") != std::string::npos; }
bool answers_query(const AgentRun& run) { return run.spec.variables.at("SKALD_TASK") == "0"; }

std::optional<Mailbox> mailbox_of(const AgentRun& run) {
  const auto path = run.spec.variables.find("SKALD_MAILBOX");
  return path == run.spec.variables.end() ? std::nullopt : Mailbox::at(path->second);
}

Habit draw_habit(SimRandom& dice, const AgentRun& run) {
  const int choice = dice.between(0, 99);
  if (answers_query(run)) return choice < 80 ? Habit::finishes : Habit::fails;
  if (choice < 50) return Habit::finishes;
  if (choice < 60) return Habit::fails;
  if (choice < 70 && !was_answered(run)) return Habit::asks_in_output;
  if (choice < 85 && !was_answered(run)) return Habit::asks_by_mail;
  return Habit::completes_by_word;
}

}  // namespace

void AgentModel::begin(AgentRun& run) {
  run.launched = true;
  run.started_at = stage_.timeline.wall();
  run.habit = draw_habit(stage_.dice, run);
  run.acts_at = stage_.now() + stage_.dice.between(20ms, 2s);
  change(run);
  stage_.trace.note(stage_.now(), {"  agent", run.spec.id, "begins"});
  begun_(run);
}

// Into all worktrees beside each other that it works in: a file of its own for each task, and now and then one that
// others change, too. Who answers a query changes nothing.
void AgentModel::write_files(const AgentRun& run, const std::string& what) {
  if (answers_query(run)) return;
  const auto folder = std::filesystem::path(run.spec.folder).parent_path();
  const std::string& work = run.spec.variables.at("SKALD_WORK");
  for (auto& [path, repository] : git_.all())
    for (auto& [place, tree] : repository->trees) {
      if (std::filesystem::path(place).parent_path() != folder || git_.tree_at(place) == nullptr) continue;
      tree.files[work + "." + run.spec.variables.at("SKALD_TASK")] = run.spec.id + " " + what;
      if (work.back() % 5 == 0) tree.files["shared"] = work;
    }
}

void AgentModel::act(AgentRun& run) {
  if (run.phase++ == 0) {
    write_files(run, "began");
    run.acts_at = stage_.now() + stage_.dice.between(100ms, 8s);
    return;
  }
  if (run.lost) {
    write_files(run, "is left over");
    run.has_leftovers = false;
    return;
  }
  switch (*run.habit) {
    case Habit::fails: write_files(run, "failed"); return finish(run, {.outcome = RunOutcome::EXITED, .exit_code = 3});
    case Habit::asks_by_mail: return ask_by_mail(run);
    case Habit::completes_by_word:
      if (run.phase == 2) return leave_word(run);
      break;
    case Habit::asks_in_output: run.output += "working\nQUESTION: which colour?\n"; break;
    case Habit::finishes: break;
  }
  if (*run.habit == Habit::finishes) answer_queries(run);
  write_files(run, "finished");
  run.output += "done\n";
  finish(run, {.outcome = RunOutcome::FINISHED, .exit_code = 0});
}

void AgentModel::ask_by_mail(AgentRun& run) {
  const auto mailbox = mailbox_of(run);
  run.acts_at = stage_.now() + kLookForAnswer;
  if (!mailbox || (run.phase > 2 && mailbox->read(agentflow::answer_file(1)).is_there)) {
    run.habit = Habit::finishes;
  } else if (run.phase == 2) {
    mailbox->add(agentflow::request_file(1), to_json(AgentRequest{RequestKind::ask, "which colour?"}));
    stage_.markers.hit(Marker::agent_asked);
    change(run);
  }
}

// It has said that its task is done, and stays for a while.
void AgentModel::leave_word(AgentRun& run) {
  run.acts_at = stage_.now() + stage_.dice.between(100ms, 8s);
  const auto mailbox = mailbox_of(run);
  if (!mailbox) return;
  mailbox->add(agentflow::request_file(1), to_json(AgentRequest{RequestKind::report, "what was done"}));
  mailbox->add(agentflow::request_file(2), to_json(AgentRequest{RequestKind::complete, "done"}));
  stage_.markers.hit(Marker::agent_completed_by_word);
  change(run);
}

void AgentModel::answer_queries(const AgentRun& run) {
  const auto mailbox = mailbox_of(run);
  if (!mailbox) return;
  int said = 1;
  while (mailbox->read(agentflow::request_file(said)).is_there) ++said;
  for (int k = 1; k <= kQueriesLooked; ++k) {
    const auto reading = mailbox->read(agentflow::query_file(k));
    if (!reading.text || stage_.dice.chance(300)) continue;
    const auto query = from_json<agentflow::MailQuery>(*reading.text);
    mailbox->add(agentflow::request_file(said++), to_json(AgentRequest{RequestKind::answer, "blue", query.id}));
    stage_.markers.hit(Marker::query_answered_by_mail);
  }
}

void AgentModel::finish(AgentRun& run, RunEnd end) {
  end.at = stage_.timeline.wall();
  run.ended_at = stage_.now();
  run.end = std::move(end);
  run.dies_at.reset();
  change(run);
  stage_.trace.note(stage_.now(), {"  agent", run.spec.id, enum_name(run.end->outcome)});
  ended_(run);
}

}  // namespace skald::sim
