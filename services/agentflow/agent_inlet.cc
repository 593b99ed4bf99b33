#include "agentflow/agent_inlet.h"

#include <poll.h>

#include <vector>

#include "agentflow/events.h"
#include "agentflow/task_end.h"

namespace agentflow {
namespace {

constexpr int kLookAgainMax = 1'000;  // milliseconds: a supervisor that died tells nobody

constexpr std::size_t kMailAtOnce = 100;
constexpr skald::Duration kTellAgain = 100ms;  // of what agents write

// Waits until one of them is readable; whether it is `own`.
bool wait_for(skald::Duration longest, int own, int mail, std::span<const int> wake) {
  std::vector<pollfd> all = {{own, POLLIN, 0}, {mail, POLLIN, 0}};
  for (const int fd : wake) all.push_back({fd, POLLIN, 0});
  const auto time = std::chrono::duration_cast<std::chrono::milliseconds>(longest).count();
  ::poll(all.data(), all.size(), static_cast<int>(std::min<std::int64_t>(time, kLookAgainMax)));
  return (all[0].revents & POLLIN) != 0;
}

}  // namespace

AgentInlet::AgentInlet(skald::Env env, Agents& agents, Mailroom::SpaceOf space_of, Mailroom::SecretsOf secrets_of,
                       Land land, SpendingWatch::RuleOf rule_of, Wrote wrote)
    : env_(env),
      agents_(agents),
      mailroom_(env, std::move(space_of), std::move(secrets_of)),
      land_(std::move(land)),
      spending_(env.clock, agents, std::move(rule_of)),
      wrote_(std::move(wrote)) {}

void AgentInlet::set_partitions(std::uint64_t mask) {
  if (mask == mask_) return;
  mask_ = mask;
  live_.clear();
  for (const std::string& run : agents_.list())
    if (!landed_.contains(run)) live_.insert(run);
}

void AgentInlet::poll(skald::Duration wait, std::span<const int> wake) {
  try {
    look_at_all();
    up_ = true;
  } catch (const std::exception& error) {
    if (up_)
      env_.observer.log(skald::Observer::Level::error, "the ends of agents cannot be taken in",
                        "\"error\":" + skald::to_json(std::string(error.what())));
    up_ = false;
  }
  const skald::Duration longest = tell_of_writing(wait);
  if (longest > skald::Duration::zero() && wait_for(longest, agents_.fd(), mailroom_.fd(), wake)) written_ = true;
}

// How long may be waited before there is more to tell.
skald::Duration AgentInlet::tell_of_writing(skald::Duration wait) {
  if (!written_) return wait;
  const skald::Instant now = env_.clock.steady();
  if (now - told_at_ < kTellAgain) return std::min<skald::Duration>(wait, kTellAgain - (now - told_at_));
  wrote_();
  written_ = false;
  told_at_ = now;
  return wait;
}

void AgentInlet::look_at_all() {
  mailroom_.drain();
  for (const std::string& run : agents_.changed())
    if (!landed_.contains(run)) live_.insert(run);
  const std::vector<std::string> live(live_.begin(), live_.end());
  std::exception_ptr trouble;  // of one run: the others are looked at all the same
  for (const std::string& run : live) {
    try {
      look_at(run);
    } catch (const std::exception&) {
      if (!trouble) trouble = std::current_exception();
    }
  }
  if (trouble) std::rethrow_exception(trouble);
}

// The run is looked at before its mailbox: what it said before its end is there by then.
void AgentInlet::look_at(const std::string& run) {
  const auto work_id = work_of_run(run);
  if (!work_id) {
    live_.erase(run);
    return;
  }
  if ((mask_ >> skald::partition_of(*work_id) & 1) == 0) return;
  const auto view = agents_.look(run);
  if (!view) return drop(run);
  take_mail(run, *work_id);
  const auto name = run_named(run);  // none: it answers a query, and its cost is not told
  if (view->end) tell_end(*work_id, name, *view);
  else if (name) tell_spending(*name, *view);
}

void AgentInlet::tell_end(const std::string& work_id, const std::optional<RunName>& name, const skald::RunView& run) {
  AgentEnded ended{run.id, *run.end};
  if (run.output_lost > 0) ended.output_lost = run.output_lost;
  if (name) {
    const auto spent = spending_.finish(*name, run);
    if (!spent) return;
    ended.cost = spent->cost, ended.milliseconds = spent->milliseconds;
  }
  const skald::Message message{{.id = "agent-ended/" + run.id,
                                .type = std::string(kAgentEnded),
                                .key = work_id,
                                .subject = work_id,
                                .payload = skald::to_json(ended)},
                               "/agentflow/agents",
                               run.end->at,
                               1,
                               false};
  land_(std::span(&message, 1));
  drop(run.id);
  landed_.insert(run.id);
}

void AgentInlet::tell_spending(const RunName& name, const skald::RunView& run) {
  const auto spent = spending_.look(name, run);
  if (!spent) return;
  const skald::Message message{{.id = "agent-spent/" + run.id + "/" + std::to_string(spent->milliseconds),
                                .type = std::string(kAgentSpent),
                                .key = name.work_id,
                                .subject = name.work_id,
                                .payload = skald::to_json(AgentSpent{run.id, spent->cost, spent->milliseconds})},
                               "/agentflow/agents",
                               env_.clock.now(),
                               1,
                               false};
  land_(std::span(&message, 1));
}

void AgentInlet::take_mail(const std::string& run, const std::string& work_id) {
  for (;;) {
    const Mailroom::Mail mail = mailroom_.collect(run, work_id, kMailAtOnce);
    if (!mail.messages.empty()) land_(mail.messages);
    mailroom_.taken(run, mail.next);
    if (mail.messages.empty()) return;
  }
}

void AgentInlet::drop(const std::string& run) {
  live_.erase(run);
  mailroom_.forget(run);
  spending_.forget(run);
}

}  // namespace agentflow
