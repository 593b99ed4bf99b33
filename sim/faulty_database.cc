#include "sim/faulty_database.h"

#include "sim/signals.h"

namespace skald::sim {
namespace {

struct RunAgain {};

Database::Body twice(const Database::Body& body) {
  return [&body](Transaction& tx) {
    try {
      tx.savepoint([&] {
        body(tx);
        throw RunAgain{};
      });
    } catch (const RunAgain&) {}
    body(tx);
  };
}

}  // namespace

void FaultyDatabase::crash() {
  wiring_.crashes();
  throw Crash{};
}

FaultyDatabase::Fault FaultyDatabase::draw(std::string_view name) {
  const Rates& rates = stage_.plan.rates;
  SimRandom& dice = stage_.dice;
  if ((name == "bury" || name == "end a dead letter's entry") && dice.chance(rates.bury_fails))
    return dice.chance(500) ? Fault::away : Fault::commit_fails;
  if (dice.chance(rates.away)) return Fault::away;
  if (dice.chance(rates.busy)) return Fault::busy;
  if (dice.chance(rates.crash_before)) return Fault::crash_before;
  if (dice.chance(rates.crash_after)) return Fault::crash_after;
  if (dice.chance(rates.commit_fails)) return Fault::commit_fails;
  if (dice.chance(rates.answer_lost)) return dice.chance(500) ? Fault::lost_committed : Fault::lost_rolled_back;
  if (dice.chance(rates.body_twice)) return Fault::body_twice;
  return Fault::none;
}

void FaultyDatabase::maybe_pause(std::string_view name) {
  if (wiring_.dying()) crash();
  const Rates& rates = stage_.plan.rates;
  // Under these the membership holds its mutex: its relay would wait as well.
  const bool locked = name == "take over" || name == "share out partitions" || name == "give partition back";
  // A worker that is declared dead while it is about to claim does the most harm.
  const int freeze = name == "claim sagas" ? rates.freeze * 5 : rates.freeze;
  if (stage_.dice.chance(freeze)) {
    stage_.markers.hit(Marker::frozen_in_step);
    wiring_.pause(stage_.dice.between(1s, 9s), stage_.dice.chance(700) || locked);
  } else if (stage_.dice.chance(rates.slow)) {
    stage_.markers.hit(Marker::slow_step);
    wiring_.pause(stage_.dice.between(1ms, 400ms), locked);
  }
  if (wiring_.dying()) crash();
}

void FaultyDatabase::begin(std::string_view name, Fault fault) {
  stage_.timeline.advance(stage_.dice.between(50us, 2ms));
  physical_commits_ = 0;
  disk_.set_commit_hook(hook_ != nullptr ? &told_ : nullptr);
  disk_.before_physical_commit = [this, fault] { at_physical_commit(fault); };
  static constexpr std::string_view names[] = {"ok",          "away",         "busy",           "crash-before",
                                               "crash-after", "commit-fails", "lost-committed", "lost-rolled-back",
                                               "twice"};
  stage_.trace.note(stage_.now(), {"  write", name, names[static_cast<std::size_t>(fault)]});
  if (writer_stopped_) throw Unavailable("WRITER_STOPPED", "a sync failed; no writes until a restart");
  if (fault == Fault::away) {
    stage_.markers.hit(Marker::database_away);
    throw Unavailable("DATABASE_UNAVAILABLE", "simulated: the connection is gone");
  }
  if (fault == Fault::busy) throw LockTimeout("LOCK_TIMEOUT", "simulated: a lock was not free");
  if (fault == Fault::body_twice) stage_.markers.hit(Marker::body_run_twice);
}

void FaultyDatabase::at_physical_commit(Fault fault) {
  // A second one exists only where a planted bug writes events apart.
  if (++physical_commits_ > 1) {
    if (fault == Fault::crash_after) crash();
    return;
  }
  switch (fault) {
    case Fault::crash_before: stage_.markers.hit(Marker::crash_before_commit); crash();
    case Fault::commit_fails: return stage_.hardware.fill(0, test::FaultyDisk::kAll, true);
    case Fault::lost_rolled_back:
      stage_.markers.hit(Marker::answer_lost_rolled_back);
      throw CommitUnknown("COMMIT_UNKNOWN", "simulated: the answer was lost");
    default: return;
  }
}

// The transaction is durable; does the process get to know it?
void FaultyDatabase::end(std::string_view name, Fault fault) {
  disk_.before_physical_commit = nullptr;
  wiring_.wrote(name);
  if (fault == Fault::crash_after) {
    stage_.markers.hit(Marker::crash_after_commit);
    crash();
  }
  if (fault == Fault::lost_committed) {
    stage_.markers.hit(Marker::answer_lost_committed);
    wiring_.wake_lost(told_.events);
    throw CommitUnknown("COMMIT_UNKNOWN", "simulated: the answer was lost");
  }
  const std::vector<Event> events = std::move(told_.events);
  if (hook_ != nullptr && !events.empty()) hook_->after_commit(events);
  maybe_pause(name);
}

// The disk has room again behind a write, however that ends.
FaultyDatabase::Room::~Room() {
  stage.hardware.make_room();
  if (stage.hardware.refusals() > refusals) stage.markers.hit(Marker::physical_commit_failed);
}

void FaultyDatabase::write(std::string_view name, const Body& body) {
  maybe_pause(name);
  const OwnNews own{told_.events};
  const Fault fault = draw(name);
  begin(name, fault);
  try {
    {
      const Room room{stage_};
      disk_.write(name, fault == Fault::body_twice ? twice(body) : body);
    }
    end(name, fault);
  } catch (const CommitUnknown&) {
    if (stage_.plan.sole) {
      writer_stopped_ = true;
      stage_.markers.hit(Marker::writer_stopped);
    }
    throw;
  }
}

std::vector<std::exception_ptr> FaultyDatabase::write_together(std::span<const Body> bodies) {
  maybe_pause("together");
  const OwnNews own{told_.events};
  const Fault fault = draw("together");
  begin("together", fault);
  std::vector<std::exception_ptr> results;
  {
    const Room room{stage_};
    results = disk_.write_together(bodies);
  }
  for (const auto& result : results) {
    try {
      if (result) std::rethrow_exception(result);
    } catch (const Error&) {
      // the caller's own affair
    }
  }
  if (stage_.plan.sole && (fault == Fault::lost_rolled_back || fault == Fault::lost_committed)) writer_stopped_ = true;
  end("together", fault);
  return results;
}

void FaultyDatabase::read(const Body& body) {
  if (wiring_.dying()) crash();
  stage_.timeline.advance(stage_.dice.between(20us, 500us));
  if (stage_.dice.chance(stage_.plan.rates.away))
    throw Unavailable("DATABASE_UNAVAILABLE", "simulated: the connection is gone");
  look_at(disk_, body);
}

}  // namespace skald::sim
