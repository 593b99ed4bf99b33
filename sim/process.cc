#include "sim/process.h"

#include <algorithm>

#include "sim/business.h"
#include "sim/signals.h"

namespace skald::sim {

using outbox::Membership;

constexpr Duration kSagaPatience = 5s;

void MarkingObserver::count(std::string_view metric, std::int64_t) {
  static constexpr std::pair<std::string_view, Marker> table[] = {
      {"worker_take_overs_total", Marker::take_over},
      {"worker_lease_lost_total", Marker::lease_lost},
      {"outbox_stalled_recovered_total", Marker::orphan_recovered},
      {"dead_letter_file_fallback_total", Marker::file_fallback},
      {"dead_letter_unsaved_total", Marker::dead_letter_unsaved},
  };
  for (const auto& [name, marker] : table)
    if (name == metric) stage_.markers.hit(marker);
}

void MarkingObserver::log(Level, std::string_view message, std::string_view fields) {
  stage_.trace.note(stage_.now(), {"  log", message, fields});
}

Process::Process(Surroundings around)
    : around_(std::move(around)),
      stage_(around_.stage),
      clock_(stage_.timeline, around_.index * 700ms),
      observer_(stage_),
      env_{clock_, stage_.engine_random, observer_},
      db_(stage_, around_.wiring),
      bus_(stage_, around_.network, around_.ledger,
           {[this](int partition) { return acting_fence(partition); }, [this] { return stage_.now() - step_began_; }}),
      emitter_(stage_.plan.options, routing_,
               [this](std::uint64_t, std::uint64_t partitions) {
                 std::uint64_t own = 0;
                 for (const auto& share : membership_.view()->shares) own |= std::uint64_t{1} << share.partition;
                 if ((partitions & own) != 0) wake(partitions & own);
                 if ((partitions & ~own) != 0) around_.announce(partitions & ~own);
               }),
      fallback_(around_.file.path(), around_.file.ops()),
      undertaker_(
          env_, db_, &fallback_,
          [this](std::string_view code, std::string_view) { stage_.trace.note(stage_.now(), {"  alert", code}); }),
      membership_(env_, db_, {"host-" + std::to_string(around_.index), around_.index},
                  stage_.plan.sole ? Membership::Kind::sole : Membership::Kind::leased, stage_.plan.options),
      relay_(env_, db_, membership_, routing_, undertaker_, stage_.plan.options),
      runner_(env_, db_, registry_,
              {[this] { return membership_.trusted() ? membership_.view()->worker : std::string(); },
               [this] { sagas_woken_ = true; },
               [this] { sagas_woken_ = true; },
               {},
               [](std::vector<std::function<void()>> calls) {
                 for (auto& one : calls) one();
               },
               true},
              {.patience = kSagaPatience}),
      acting_(membership_.view()) {
  add_sagas(registry_, {around_.provider, [this](Duration time) { around_.wiring.pause(time, false); }}, stage_.plan);
  for (const auto& [consumer, type] :
       {std::pair("ledger", "local.*"), std::pair("thanks", "local.*"), std::pair("mirror", "both.*")}) {
    routing_.add(Consumer{
        consumer, type,
        [this, name = std::string(consumer)](Transaction& tx, const Message& message) { handle(tx, name, message); }});
  }
  for (const char* type : {"bus.*", "both.*"}) routing_.add(Route{type, &bus_, stage_.plan.route_retries_max});
  for (const char* type : {"local.*", "bus.*", "both.*", "nobody.*"}) {
    routing_.on_settled(type, [this](Transaction& tx, const Entry& entry, EntryStatus status) {
      if (status == EntryStatus::DEAD_LETTER && stage_.dice.chance(stage_.plan.rates.deaf)) {
        stage_.markers.hit(Marker::dead_letter_untold);
        throw Unavailable("DEAF", "simulated: the service cannot bear it");
      }
      note_settled(tx, entry, status, {acting_->worker, acting_fence(entry.partition)});
    });
  }
  db_.set_commit_hook(&emitter_);
}

Duration Process::beat() {
  beat_began_ = stage_.now();
  try {
    const auto before = membership_.view();
    const auto result = membership_.run_once();
    if (result.live != 0 || membership_.view() != before) wake(result.live);
    if (result.saga_due_in) runner_.note_due(*result.saga_due_in);
    return result.again_in;
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  no beat:", error.code()});
    return 100ms;
  }
}

Duration Process::relay_once() {
  woken_ = false;
  step_began_ = stage_.now();
  acting_ = membership_.view();
  return relay_.run_once();
}

Duration Process::sagas_once() {
  sagas_woken_ = false;
  try {
    const Duration idle = runner_.poll();
    return runner_.run_one() ? Duration::zero() : std::min(idle, runner_.ready_in());
  } catch (const Error& error) {
    stage_.trace.note(stage_.now(), {"  no sagas:", error.code()});
    return 100ms;
  }
}

void Process::retry_saga(const std::string& id) {
  around_.provider.help(id);
  db_.write("help", [&](Transaction& tx) { runner_.retry(tx, id); });
  runner_.note_due(Duration::zero());
}

std::int64_t Process::acting_fence(int partition) const {
  const auto share = std::ranges::find(acting_->shares, partition, &Membership::Share::partition);
  return share == acting_->shares.end() ? -1 : share->fence;
}

// The first consumer of local events never fails: what it did must not be done
// again when the second one makes the event come back.
void Process::handle(Transaction& tx, const std::string& consumer, const Message& message) {
  const Temper temper = consumer == "ledger" ? Temper::calm : temper_of(message.event.payload);
  const auto failing = [&] {
    if (message.attempt == 0) stage_.markers.hit(Marker::batch_split);
  };
  if (temper == Temper::poison) {
    stage_.markers.hit(Marker::crash_in_handler);
    throw Crash{};
  }
  if (temper == Temper::unacceptable) {
    failing();
    throw Refused("NOT_WANTED", "simulated: the handler refuses it");
  }
  if (temper == Temper::flaky && !stage_.plan.healed && stage_.dice.chance(400)) {
    failing();
    throw Busy("TRY_LATER", "simulated: the handler cannot work now");
  }
  apply_gift(tx, consumer, message, {acting_->worker, acting_fence(partition_of(message.event.key))});
  if (temper == Temper::doomed) {
    failing();
    // What it throws says nothing about the database.
    if (message.event.id.back() % 2 == 0) throw Unavailable("PEER_DOWN", "simulated: the handler's peer is away");
    throw std::runtime_error("simulated: the handler has a bug");
  }
  if (message.attempt > 1) stage_.markers.hit(Marker::retry_succeeded);
}

}  // namespace skald::sim
