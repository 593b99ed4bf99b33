// Runner: finding what is due.
#include <algorithm>

#include "env/seam.h"
#include "saga/runner.h"

namespace skald::saga {
namespace {

constexpr std::size_t kInHandMax = 1024;
constexpr std::size_t kClaimMax = 64;
constexpr Duration kSuspectsPutOff = 200ms;

// At the last take-over its step is not run any more: it is parked, and harms nobody.
bool is_suspect(const tables::saga::Row& row) {
  return row.take_overs >= kTakeOversSuspect && row.take_overs < kTakeOversMax;
}

}  // namespace

std::vector<std::string> Runner::definitions() const {
  std::vector<std::string> out;
  for (const auto& [name, definition] : registry_.all())
    out.push_back(tables::saga::definition_name(name.first, name.second));
  return out;
}

void Runner::put_off_suspects(Transaction& tx, std::vector<tables::saga::Row>& claimed) {
  bool taken = false;
  {
    std::lock_guard lock(mutex_);
    taken = !suspect_.empty();
  }
  std::erase_if(claimed, [&](const tables::saga::Row& row) {
    const bool put_off = is_suspect(row) && std::exchange(taken, true);
    if (put_off) tables::saga::put_off(tx, row.id, tx.now() + kSuspectsPutOff);
    return put_off;
  });
}

bool Runner::look_sooner(Duration in) {
  const std::int64_t at = ticks(env_.clock.steady() + std::min(in, kIdleMax));
  std::int64_t known = next_look_.load();
  while (at < known && !next_look_.compare_exchange_weak(known, at)) {}
  return at < known;
}

void Runner::look_at(Duration in) {
  if (look_sooner(in) && hooks_.wake_poll) hooks_.wake_poll();
}

void Runner::note_due(Duration in) { look_at(std::max(in, Duration::zero())); }

Duration Runner::poll() {
  const std::string worker = hooks_.worker();
  if (worker.empty() || draining_) return 1s;
  const auto now = ticks(env_.clock.steady());
  if (next_look_ > now) return Duration(next_look_ - now);
  std::size_t room = 0;
  {
    std::lock_guard lock(mutex_);
    room = std::min(kClaimMax, kInHandMax - std::min(kInHandMax, ready_.size()));
  }
  if (room == 0) return 10ms;
  next_look_ = ticks(env_.clock.steady() + kIdleMax);
  const std::vector<std::string> known = definitions();
  std::vector<tables::saga::Row> claimed;
  std::optional<Time> next;
  Time at{};
  const bool adrift = adrift_.exchange(false);
  try {
    db_.write("claim sagas", [&](Transaction& tx) {
      if (adrift && seam::holds(seam::Rule::lost_claims_released)) tables::saga::release_others(tx, worker, held());
      claimed = tables::saga::claim_due(tx, worker, known, room);
      put_off_suspects(tx, claimed);
      next = tables::saga::next_wake(tx, known);
      at = tx.now();
    });
  } catch (...) {
    adrift_ = true;
    look_sooner(kPauseAfterError);
    throw;
  }
  if (next) look_sooner(std::max<Duration>(*next - at, Duration::zero()));
  for (const auto& row : claimed) {
    std::lock_guard lock(mutex_);
    if (is_suspect(row)) suspect_ = row.id;
  }
  for (const auto& row : claimed) take_in_hand(row);
  return std::max<Duration>(Duration(next_look_ - ticks(env_.clock.steady())), Duration::zero());
}

// One that nobody can make sense of is a person's, and stands in no other's way.
void Runner::take_in_hand(const tables::saga::Row& row) {
  Handle saga;
  try {
    saga = load(row);
  } catch (const std::exception& error) {
    park_unreadable(row, error.what());
    return;
  }
  put_back(std::move(saga), After::go_on);
}

void Runner::park_unreadable(tables::saga::Row row, const std::string& why) {
  trust(row.id);
  env_.observer.log(Observer::Level::error, "a saga cannot be read and needs help",
                    "\"tag\":\"[Saga]\",\"sagaId\":" + to_json(row.id) + ",\"error\":" + to_json(why));
  try {
    db_.write("park a saga that cannot be read", [&](Transaction& tx) {
      if (!tables::saga::hold(tx, row.id, row.owner, row.fence)) return;
      tables::saga::Row parked = row;
      parked.status = SagaStatus::NEEDS_HELP;
      parked.owner.clear();
      parked.error_code = "UNREADABLE";
      parked.error_message = why;
      parked.log.clear();
      tables::saga::update(tx, parked);
    });
    env_.observer.count("sagas_parked_total");
  } catch (const Error&) {
    adrift_ = true;  // given back, and tried again
    look_sooner(kPauseAfterError);
  }
}

}  // namespace skald::saga
