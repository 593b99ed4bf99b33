#include "interleave/conductor.h"

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace skald::test {
namespace {

using namespace std::chrono_literals;

// Who this thread is, while it performs.
thread_local Conductor* conductor_here = nullptr;
thread_local int session_here = 0;

constexpr std::size_t kTraceBytesMax = 160;

using Result = std::unique_ptr<PGresult, void (*)(PGresult*)>;

Result ask(PGconn* monitor, const char* sql, std::initializer_list<const char*> params) {
  Result result(
      PQexecParams(monitor, sql, static_cast<int>(params.size()), nullptr, params.begin(), nullptr, nullptr, 0),
      PQclear);
  if (PQresultStatus(result.get()) != PGRES_TUPLES_OK)
    throw std::runtime_error("the interleaver cannot see locks: " + std::string(PQerrorMessage(monitor)));
  return result;
}

// "{1,2}", as PostgreSQL reads an array.
template <class Values>
std::string array_text(const Values& values) {
  std::string out = "{";
  for (const int value : values) out += (out.size() > 1 ? "," : "") + std::to_string(value);
  return out + "}";
}

}  // namespace

Schedule Performance::schedule() const {
  Schedule out;
  for (const Decision& decision : decisions) out.push_back(decision.chosen);
  return out;
}

Conductor::Conductor(const std::string& url, int sessions)
    : monitor_(PQconnectdb(url.c_str()), PQfinish), backends_(static_cast<std::size_t>(sessions)) {
  if (PQstatus(monitor_.get()) != CONNECTION_OK)
    throw std::runtime_error("the interleaver cannot connect: " + std::string(PQerrorMessage(monitor_.get())));
}

void Conductor::note_backend(int session, int pid) {
  const std::lock_guard lock(mutex_);
  backends_[static_cast<std::size_t>(session)].insert(pid);
}

void Conductor::switch_point(std::string_view sql) {
  if (conductor_here != nullptr) conductor_here->wait_for_turn(session_here, sql);
}

void Conductor::wait_for_turn(int session, std::string_view sql) {
  std::unique_lock lock(mutex_);
  Slot& slot = slots_[static_cast<std::size_t>(session)];
  slot.where = Where::waiting;
  slot.sql = sql;
  changed_.notify_all();
  changed_.wait(lock, [&] { return slot.granted; });
  slot.granted = false;
}

void Conductor::end(int session, std::string problem) {
  const std::lock_guard lock(mutex_);
  slots_[static_cast<std::size_t>(session)].where = Where::done;
  if (!problem.empty()) performance_.problems.push_back("session " + std::to_string(session) + " threw: " + problem);
  changed_.notify_all();
}

bool Conductor::any(Where where) const {
  return std::ranges::any_of(slots_, [&](const Slot& slot) { return slot.where == where; });
}

Performance Conductor::perform(std::span<const std::function<void()>> bodies, const std::set<int>& stoppable,
                               const Schedule& schedule) {
  std::unique_lock lock(mutex_);
  performance_ = {};
  forget_dead_backends();
  backends_at_start_ = backends_;
  slots_.clear();
  slots_.reserve(bodies.size());
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < bodies.size(); ++i) {
    slots_.emplace_back();
    threads.emplace_back([this, i, &body = bodies[i]] {
      conductor_here = this;
      session_here = static_cast<int>(i);
      std::string problem;
      try {
        body();
      } catch (const std::exception& error) {
        problem = error.what();
      }
      end(static_cast<int>(i), std::move(problem));
    });
    settle(lock);
  }
  std::optional<int> current;
  while (any(Where::waiting) || any(Where::running)) {
    Decision decision{options(stoppable, current), {}, false};
    if (decision.options.empty()) {
      go_on_without_choice(lock);
      current.reset();
      continue;
    }
    decision.chosen = decision.options.front();
    decision.could_go_on = current && decision.chosen == Choice{*current, false};
    if (const std::size_t turn = performance_.decisions.size(); turn < schedule.size() && !performance_.diverged) {
      if (std::ranges::find(decision.options, schedule[turn]) != decision.options.end())
        decision.chosen = schedule[turn];
      else performance_.diverged = true;
    }
    performance_.decisions.push_back(decision);
    take_turn(decision.chosen, lock);
    current = decision.chosen.stop ? std::nullopt : std::optional(decision.chosen.session);
  }
  lock.unlock();
  for (std::thread& thread : threads) thread.join();
  return std::move(performance_);
}

std::vector<Choice> Conductor::options(const std::set<int>& stoppable, std::optional<int> current) const {
  const auto ready = [&](int session) {
    const Slot& slot = slots_[static_cast<std::size_t>(session)];
    return slot.where == Where::waiting && !slot.stopped;
  };
  std::vector<Choice> out;
  if (current && ready(*current)) out.push_back({*current, false});
  for (int i = 0; i < static_cast<int>(slots_.size()); ++i)
    if (ready(i) && i != current) out.push_back({i, false});
  // Only the session that has just run: stopping it later is stopping it here.
  const bool others = std::ranges::any_of(out, [&](const Choice& choice) { return choice.session != current; });
  if (current && ready(*current) && others && stoppable.contains(*current) && backends_ == backends_at_start_)
    out.push_back({*current, true});
  return out;
}

void Conductor::take_turn(const Choice& choice, std::unique_lock<std::mutex>& lock) {
  Slot& slot = slots_[static_cast<std::size_t>(choice.session)];
  if (choice.stop) {
    slot.stopped = true;
    performance_.trace.push_back(std::to_string(choice.session) + " is stopped");
    return;
  }
  performance_.trace.push_back(std::to_string(choice.session) + " " + slot.sql.substr(0, kTraceBytesMax));
  slot.granted = true;
  slot.where = Where::running;
  changed_.notify_all();
  settle(lock);
}

// Everybody is done, stopped, or waits for a lock.
void Conductor::go_on_without_choice(std::unique_lock<std::mutex>& lock) {
  const auto stopped = std::ranges::find_if(slots_, [](const Slot& slot) { return slot.stopped; });
  if (stopped != slots_.end()) {
    if (any(Where::running))
      performance_.problems.push_back("a session waits for a lock of session " +
                                      std::to_string(stopped - slots_.begin()) + ", which is stopped");
    stopped->stopped = false;
    performance_.trace.push_back(std::to_string(stopped - slots_.begin()) + " wakes");
    return;
  }
  // A deadlock: the server gives one of them up.
  changed_.wait(lock, [&] { return any(Where::waiting) || !any(Where::running); });
  for (Slot& slot : slots_) slot.blocked = false;
  settle(lock);
}

// Until every session is at a switch point, done, or in the queue of a lock that
// another one of them holds.
void Conductor::settle(std::unique_lock<std::mutex>& lock) {
  const auto on_its_way = [](const Slot& slot) { return slot.where == Where::running && !slot.blocked; };
  for (;;) {
    changed_.wait_for(lock, 500us, [&] { return std::ranges::none_of(slots_, on_its_way); });
    std::vector<int> running;
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].where == Where::running) running.push_back(static_cast<int>(i));
    if (running.empty()) return;
    lock.unlock();
    const bool blocked = all_blocked(running);
    lock.lock();
    for (const int session : running) {
      Slot& slot = slots_[static_cast<std::size_t>(session)];
      if (slot.where != Where::running) continue;
      if (blocked && !slot.blocked) performance_.trace.push_back(std::to_string(session) + " waits for a lock");
      slot.blocked = blocked;
    }
    if (blocked) return;
  }
}

// Whether each of these sessions has a backend that waits for others of ours. A
// backend that is going away holds its locks for a moment longer: it does not count.
bool Conductor::all_blocked(const std::vector<int>& sessions) const {
  std::vector<int> waiting, whose, ours;
  {
    const std::lock_guard lock(mutex_);
    for (const int session : sessions) {
      for (const int pid : backends_[static_cast<std::size_t>(session)]) {
        waiting.push_back(pid);
        whose.push_back(session);
      }
    }
    for (const auto& backends : backends_) ours.insert(ours.end(), backends.begin(), backends.end());
  }
  const Result blocked = ask(monitor_.get(),
                             "SELECT count(DISTINCT session) FROM (SELECT session, pg_blocking_pids(pid) AS by "
                             "FROM unnest($1::int[], $2::int[]) AS ours (pid, session) OFFSET 0) AS b "
                             "WHERE cardinality(by) > 0 AND by <@ $3::int[]",
                             {array_text(waiting).c_str(), array_text(whose).c_str(), array_text(ours).c_str()});
  return PQgetvalue(blocked.get(), 0, 0) == std::to_string(sessions.size());
}

void Conductor::forget_dead_backends() {
  for (auto& backends : backends_) {
    const Result alive = ask(monitor_.get(), "SELECT pid FROM pg_stat_activity WHERE pid = ANY($1::int[])",
                             {array_text(backends).c_str()});
    backends.clear();
    for (int i = 0; i < PQntuples(alive.get()); ++i) backends.insert(std::stoi(PQgetvalue(alive.get(), i, 0)));
  }
}

}  // namespace skald::test
