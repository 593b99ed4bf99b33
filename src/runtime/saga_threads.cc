#include "runtime/saga_threads.h"

#include <algorithm>
#include <thread>

#include "saga/fitting.h"
#include "store/tables/audit.h"
#include "store/tables/history.h"
#include "store/tables/semantic_lock.h"

namespace skald::runtime {
namespace {

constexpr Duration kForever = std::chrono::hours(1);

}  // namespace

SagaThreads::SagaThreads(Env env, Database& db, Hooks hooks, const Options& options)
    : env_(env),
      db_(db),
      hooks_(std::move(hooks)),
      runner_(env, db, registry_,
              {hooks_.worker, [this] { wake_poll(); }, [this] { wake_run(); }, hooks_.announce, side_by_side,
               options.record_history, options.notes},
              {.patience = options.patience, .crash_retries = options.crash_retries}) {
  polling_ = std::make_unique<Loop>(env, "saga timers", [this] { return poll(); });
  for (int i = 0; i < options.threads; ++i)
    running_loops_.push_back(std::make_unique<Loop>(env, "sagas", [this] { return run_one(); }));
}

void SagaThreads::start(bool works) {
  std::vector<tables::saga::InFlight> strangers;
  db_.write("fit definitions", [&](Transaction& tx) { strangers = saga::fit_in_flight(tx, registry_); });
  if (!strangers.empty())
    env_.observer.log(Observer::Level::warn,
                      "sagas are in flight that no definition here is for: they are another service's, or stay as they "
                      "are until a program adds their definition",
                      "\"sagas\":" + to_json(strangers));
  if (!works || registry_.all().empty()) return;
  running_ = true;
  polling_->start();
  for (auto& loop : running_loops_) loop->start();
}

void SagaThreads::hand_over() {
  runner_.drain();
  polling_->stop();  // a claim under way would take back what is given away
  runner_.give_back_ready();
}

bool SagaThreads::is_busy() const {
  return polling_->is_busy() || std::ranges::any_of(running_loops_, [](const auto& loop) { return loop->is_busy(); });
}

void SagaThreads::stop() {
  if (!running_.exchange(false)) return;
  runner_.drain();
  polling_->stop();
  for (auto& loop : running_loops_) loop->stop();
}

Duration SagaThreads::poll() {
  poll_woken_ = false;
  return runner_.poll();
}

Duration SagaThreads::run_one() {
  run_woken_ = false;
  return runner_.run_one() ? Duration::zero() : std::min(runner_.ready_in(), kForever);
}

void SagaThreads::wake_poll() noexcept {
  poll_woken_ = true;
  if (running_) polling_->wake();
}

// One of those that wait. Where none does, some may be about to: then all look again.
void SagaThreads::wake_run() noexcept {
  run_woken_ = true;
  if (!running_) return;
  for (auto& loop : running_loops_)
    if (loop->wake_from_wait()) return;
  for (auto& loop : running_loops_) loop->wake();
}

Duration SagaThreads::busy_for() const {
  Duration longest = polling_->busy_for();
  for (const auto& loop : running_loops_) longest = std::max(longest, loop->busy_for());
  return longest;
}

// Branches are few and their calls slow: a thread each costs nothing beside them.
void SagaThreads::side_by_side(std::vector<std::function<void()>> calls) {
  std::vector<std::jthread> threads;
  for (auto& one : calls) threads.emplace_back(std::move(one));
}

Started SagaThreads::begin(const std::string& type, std::shared_ptr<void> state, const StartOptions& options,
                           bool to_the_end) {
  const saga::Definition& definition = registry_.latest(type);
  env_.observer.count("sagas_started_total");
  return to_the_end ? runner_.run(definition, std::move(state), options)
                    : runner_.start(definition, std::move(state), options);
}

Started SagaThreads::begin_in(Transaction& tx, const std::string& type, std::shared_ptr<void> state,
                              const StartOptions& options) {
  const Started out = runner_.start_in(tx, registry_.latest(type), std::move(state), options);
  tx.after_commit([this] { env_.observer.count("sagas_started_total"); });
  return out;
}

std::optional<SagaView> SagaThreads::find(Transaction& tx, std::string_view id) {
  const auto row = tables::saga::find(tx, id);
  if (!row) return std::nullopt;
  return saga::view_of(*row, registry_);
}

std::vector<SagaView> SagaThreads::list(Transaction& tx, const SagaFilter& filter) {
  std::vector<SagaView> out;
  for (const auto& row :
       tables::saga::list(tx, {filter.status, filter.type, filter.key, filter.after, filter.limit, filter.code}))
    out.push_back(saga::view_of(row, registry_));
  return out;
}

std::vector<LockView> SagaThreads::locks(Transaction& tx, const LockFilter& filter) {
  return tables::semantic_lock::list(tx, filter);
}

std::vector<checker::Operation> SagaThreads::history(Transaction& tx, std::int64_t after, std::size_t commits) {
  std::vector<checker::Operation> out;
  for (const auto& row : tables::history::list(tx, after, commits))
    for (checker::Operation& operation : checker::read_history(row.operations)) {
      operation.at = row.seq;
      out.push_back(std::move(operation));
    }
  return out;
}

std::vector<std::reference_wrapper<const saga::Definition>> SagaThreads::definitions() const {
  std::vector<std::reference_wrapper<const saga::Definition>> out;
  for (const auto& [name, definition] : registry_.all()) out.emplace_back(definition);
  return out;
}

void SagaThreads::signal(Transaction& tx, std::string_view saga_id, std::string_view name, std::string_view payload,
                         std::string_view id, std::string_view actor) {
  runner_.signal(tx, saga_id, name, payload, id);
  if (!actor.empty()) tables::audit::insert(tx, env_.random, actor, "saga.signal", saga_id, name);
}

void SagaThreads::retry(Transaction& tx, std::string_view saga_id, std::string_view actor) {
  runner_.retry(tx, saga_id);
  tables::audit::insert(tx, env_.random, actor, "saga.retry", saga_id, "");
}

void SagaThreads::compensate(Transaction& tx, std::string_view saga_id, std::string_view actor, std::string_view why) {
  runner_.compensate(tx, saga_id, why);
  tables::audit::insert(tx, env_.random, actor, "saga.compensate", saga_id, why);
}

}  // namespace skald::runtime
