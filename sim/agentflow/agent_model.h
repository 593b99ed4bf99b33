// Agents' processes under their supervisors, as skald::Runs has them: they outlive every process of the engine. Each does
// what chance says: it writes files, asks, completes its task by word, ends well or badly, lets others wait when it is
// told to end. Nothing of it waits for the engine but an answer.
//
// A supervisor may die, alone or with the whole machine: its run is INTERRUPTED when somebody looks, and what is left of
// the agent may write until then.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "sim/agentflow/git_model.h"
#include "skald/process.h"

namespace skald::sim {

// The agent whose second try finds what the first has left; its last word.
inline constexpr const char* kCarelessAgent = "careless";

// How an agent is going to behave.
enum class Habit { finishes, fails, asks_in_output, asks_by_mail, completes_by_word };

struct AgentRun {
  RunSpec spec;
  bool launched = false;
  std::optional<Habit> habit = {};
  int phase = 0;  // of what it does
  Instant acts_at{};  // next
  std::optional<Instant> dies_at = {};
  std::optional<std::string> stop_reason = {};
  bool lost = false;  // its supervisor is dead
  bool has_leftovers = false;
  Instant settles_at{};  // not before that does a look end what is left of it
  Time started_at{};
  std::string output = {};
  std::optional<RunEnd> end = {};
  Instant ended_at{};

  bool lives() const { return launched && !end && !lost; }
};

class AgentModel {
 public:
  // Is told when a program begins and when it has ended.
  using Hear = std::function<void(const AgentRun&)>;
  AgentModel(Stage& stage, GitModel& git) : stage_(stage), git_(git) {}
  void listen(Hear begun, Hear ended) { begun_ = std::move(begun), ended_ = std::move(ended); }

  void start(const RunSpec& spec, const Cut& cut);
  void stop(const std::string& run, const std::string& why);
  void prevent(const std::string& run, const std::string& why, const Cut& cut);
  std::optional<RunView> look(const std::string& run);
  std::vector<std::string> list() const;
  std::string output(const std::string& run, std::int64_t offset, std::size_t bytes_max) const;
  void forget(const std::string& run);
  // Every begin, end and loss so far, by run.
  const std::vector<std::string>& changes() const { return changes_; }

  std::optional<Instant> next() const;
  void act_due();

  // A supervisor dies.
  void interrupt_one();
  // The machine goes down and comes up again.
  void reboot();

  const std::map<std::string, AgentRun>& runs() const { return runs_; }
  bool any_lives() const;

 private:
  void change(const AgentRun& run) { changes_.push_back(run.spec.id); }
  void begin(AgentRun& run);
  void act(AgentRun& run);
  void ask_by_mail(AgentRun& run);
  void leave_word(AgentRun& run);
  void answer_queries(const AgentRun& run);
  void write_files(const AgentRun& run, const std::string& what);
  void finish(AgentRun& run, RunEnd end);
  void settle(AgentRun& run);
  void lose(AgentRun& run, bool leftovers);
  AgentRun* find(const std::string& run);

  Stage& stage_;
  GitModel& git_;
  Hear begun_ = [](const AgentRun&) {}, ended_ = begun_;
  std::map<std::string, AgentRun> runs_;
  std::vector<std::string> changes_;
};

}  // namespace skald::sim
