#include "agentflow/states.h"

#include <algorithm>

#include "skald/error.h"

namespace agentflow {
namespace {

using S = WorkflowStatus;
using M = WorkflowMove;

struct Transition {
  M move;
  std::vector<S> from;
  std::optional<S> to;  // none: it stays what it is
};

const std::vector<Transition>& transitions() {
  static const std::vector<Transition> all = {
      {M::start, {S::CREATED}, S::STARTING},
      {M::pause, {S::READY, S::RUNNING}, S::PAUSING},
      {M::resume, {S::PAUSED, S::FAILED}, S::RESUMING},
      {M::cancel,
       {S::CREATED, S::STARTING, S::READY, S::RUNNING, S::PAUSING, S::PAUSED, S::RESUMING, S::FAILED, S::CANCELLING},
       S::CANCELLING},
      {M::modify, {S::CREATED, S::READY, S::RUNNING, S::PAUSED, S::FAILED}, std::nullopt},
      {M::remove, {S::CREATED, S::PAUSED, S::FAILED, S::COMPLETED, S::CANCELLED}, S::DELETING},
      {M::restore, {S::PAUSED, S::FAILED, S::COMPLETED}, std::nullopt},
      {M::integrate, {S::PAUSED, S::FAILED, S::COMPLETED}, std::nullopt},
      {M::checkpoint, {S::READY, S::PAUSED, S::FAILED, S::COMPLETED}, std::nullopt},
      {M::resources_ready, {S::STARTING}, S::READY},
      {M::compensated, {S::STARTING}, S::CREATED},
      {M::work_begins, {S::READY, S::RUNNING, S::RESUMING}, S::RUNNING},
      {M::none_left, {S::RUNNING, S::RESUMING}, S::COMPLETED},
      {M::works_stopped, {S::PAUSING}, S::PAUSED},
      {M::work_failed, {S::RUNNING, S::PAUSING}, S::FAILED},
      {M::works_cancelled, {S::CANCELLING}, S::CANCELLED}};
  return all;
}

const Transition& transition(M move) { return *std::ranges::find(transitions(), move, &Transition::move); }

constexpr M kAsked[] = {M::start,  M::pause,   M::resume,    M::cancel,    M::modify,
                        M::remove, M::restore, M::integrate, M::checkpoint};

// "delete" is no name in C++.
std::string_view word(M move) { return move == M::remove ? "delete" : skald::enum_name(move); }

struct Refusal {
  S state{};
  std::vector<std::string> allowed;
};
BOOST_DESCRIBE_STRUCT(Refusal, (), (state, allowed))

template <class Status>
bool is_among(std::initializer_list<std::pair<Status, Status>> moves, Status from, Status to) {
  return std::ranges::find(moves, std::pair(from, to)) != moves.end();
}

}  // namespace

bool allows(S from, M move) { return std::ranges::find(transition(move).from, from) != transition(move).from.end(); }

S after(S from, M move) {
  if (!allows(from, move)) refuse(from, move);
  return transition(move).to.value_or(from);
}

std::vector<std::string> allowed(S from) {
  std::vector<std::string> out;
  for (const M move : kAsked)
    if (allows(from, move)) out.emplace_back(word(move));
  return out;
}

void refuse(S from, M move) {
  const Refusal refusal{from, allowed(from)};
  std::string list;
  for (const std::string& name : refusal.allowed) list += (list.empty() ? "" : ", ") + name;
  std::string members = skald::to_json(refusal);
  throw skald::Refused("WRONG_STATE",
                       "the workflow is " + std::string(skald::enum_name(from)) + " and cannot take " +
                           std::string(word(move)) + " now; it would take " + (list.empty() ? "nothing" : list),
                       members.substr(1, members.size() - 2));
}

bool allows(WorkStatus from, WorkStatus to) {
  using W = WorkStatus;
  if (to == W::CANCELLED) return from != W::COMPLETED && from != W::CANCELLED;
  return is_among<W>({{W::PENDING, W::RUNNING},
                      {W::RUNNING, W::COMPLETED},
                      {W::RUNNING, W::FAILED},
                      {W::RUNNING, W::STOPPED},
                      {W::STOPPED, W::PENDING},
                      {W::FAILED, W::PENDING}},
                     from, to);
}

bool allows(TaskStatus from, TaskStatus to) {
  using T = TaskStatus;
  return is_among<T>({{T::PENDING, T::RUNNING},
                      {T::RUNNING, T::COMPLETED},
                      {T::RUNNING, T::FAILED},
                      {T::RUNNING, T::PENDING},
                      {T::FAILED, T::PENDING}},
                     from, to);
}

bool allows(AgentStatus from, AgentStatus to) {
  using A = AgentStatus;
  return is_among<A>({{A::IDLE, A::STARTING},
                      {A::STARTING, A::RUNNING},
                      {A::RUNNING, A::IDLE},
                      {A::RUNNING, A::ERROR},
                      {A::STARTING, A::ERROR},
                      {A::STARTING, A::STOPPING},
                      {A::RUNNING, A::STOPPING},
                      {A::STOPPING, A::IDLE},
                      {A::ERROR, A::IDLE}},
                     from, to);
}

bool allows(TreeStatus from, TreeStatus to) {
  using T = TreeStatus;
  return is_among<T>(
      {{T::PENDING, T::READY}, {T::PENDING, T::FAILED}, {T::FAILED, T::PENDING}, {T::READY, T::RELEASING}}, from, to);
}

}  // namespace agentflow
